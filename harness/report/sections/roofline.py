"""Every variant of a case under the roofs of its GPU, measured and the datasheet's."""

from collections.abc import Sequence
from typing import Any

from harness.analysis import datasheets
from harness.analysis import roofline as analysis
from harness.report.axes import DecadeAxis
from harness.report.chart import BLUE, FAINT, FONT, HEIGHT, INK, ORANGE, WIDTH, Rows, svg
from harness.report.escape import Markdown
from harness.report.labels import Free, text_width
from harness.report.page import Page

_MOST_LABELS = 5
_PAD = 4
"""Pixels from the end of a leader to the name."""
_FAR = 220
"""Pixels from a point to its name at most."""


def roofline(
    page: Page,
    name: str,
    case: str,
    flop: float,
    caption: str,
    label: Sequence[str] = (),
    **how: str,
) -> Markdown:
    """Draw every variant of a case that has time and bytes under the roofs.

    ``flop``: operations of a step. ``label``: the variants that are named; without, those with most
    to tell that have room. ``how``: the metrics ``time`` (ms) and ``bytes``, the ``kind`` of
    arithmetic whose rate is the roof, such as "bf16", and, where one variant timed all in turn as
    regions, that variant as ``within``.
    """
    return page.figure(name, "roofline", draw_roofline(page, case, flop, how, label), caption)


def draw_roofline(
    page: Page, case: str, flop: float, how: dict[str, str], label: Sequence[str] = ()
) -> str | None:
    """Return the figure as SVG, None without a roof or a point; arguments as :func:`roofline`'s."""
    sheet = datasheets.of(page.target.name)
    roofs = analysis.roofs(analysis.best(page.tables), sheet, how["kind"])
    within = how.get("within")
    points = [
        point
        for variant in page.problem.variants
        if (
            point := analysis.point(
                page.metrics, variant, case, how["time"], how["bytes"], flop, within
            )
        )
    ]
    if not roofs or not points:
        return None
    rows = [
        {
            "intensity": point.intensity,
            "rate": point.tflop_s,
            "shown": _named(page, point, roofs[0]),
            "share": point.tflop_s / roofs[0].at(point.intensity),
            "baseline": point.variant == page.problem.baseline,
            "asked": point.variant in label,
        }
        for point in points
    ]
    ends = intensity_ends([point.intensity for point in points], [roof.ridge for roof in roofs])
    lines = [
        {"roof": roof.name, "intensity": intensity, "rate": roof.at(intensity)}
        for roof in roofs
        for intensity in (ends[0], roof.ridge, ends[1])
    ]
    return draw(rows, lines)


def _named(page: Page, point: analysis.Point, roof: analysis.Roof) -> str:
    share = 100 * point.tflop_s / roof.at(point.intensity)
    return f"{page.problem.variants[point.variant].label}: {share:.0f} %"


def intensity_ends(points: list[float], ridges: list[float]) -> tuple[float, float]:
    """Return the least and the greatest intensity to draw: points, and both parts of each roof."""
    return min(min(points) / 2, min(ridges) / 4), max(max(points) * 2, max(ridges) * 4)


def draw(rows: Rows, lines: Rows) -> str:
    """Return points under roofs as SVG, both axes logarithmic, some of them named.

    Rows: intensity (FLOP a byte), rate (TFLOP/s), share (of the first roof), shown, baseline,
    asked; lines: roof, intensity, rate.
    """
    import altair as alt

    across = DecadeAxis([row["intensity"] for row in (*rows, *lines)], WIDTH)
    rates = [row["rate"] for row in (*rows, *lines)]
    upward = DecadeAxis([min(rates) / 2, 2 * max(rates)], HEIGHT)  # room for names above the roofs

    def x(field: str) -> Any:
        title = "FLOP per byte of device memory, log scale"
        return alt.X(f"{field}:Q", title=title, scale=across.scale(), axis=across.axis())

    def y(field: str) -> Any:
        title = "TFLOP/s, log scale"
        return alt.Y(f"{field}:Q", title=title, scale=upward.scale(), axis=upward.axis())

    roofs = list(dict.fromkeys(line["roof"] for line in lines))
    dashes = alt.Scale(domain=roofs, range=[[1, 0], [5, 4]][: len(roofs)])
    colour = alt.condition("datum.baseline", alt.value(ORANGE), alt.value(BLUE))
    roof = alt.Chart(alt.Data(values=lines)).mark_line(color=INK, strokeWidth=1.5)
    named = alt.Chart(alt.Data(values=_placed(rows, lines, across, upward)))
    layered = (
        roof.encode(
            x=x("intensity"),
            y=y("rate"),
            strokeDash=alt.StrokeDash("roof:N", title=None, scale=dashes),
            order="intensity:Q",
        )
        + named.mark_rule(color=FAINT, strokeWidth=1).encode(
            x=x("intensity"), y=y("rate"), x2="near_x:Q", y2="near_y:Q"
        )
        + alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=60, opacity=1)
        .encode(x=x("intensity"), y=y("rate"), color=colour)
        + named.mark_text(align="left", baseline="middle").encode(
            x=x("at"), y=y("height"), text="shown:N"
        )
    )
    return svg(layered.properties(width=WIDTH, height=HEIGHT))


def _placed(rows: Rows, lines: Rows, across: DecadeAxis, upward: DecadeAxis) -> Rows:
    """Return the rows that are named, with the places of their names in data units.

    ``at`` and ``height``: a name's left end; ``near_x`` and ``near_y``: the end of its leader.
    """

    def spot(row: dict[str, Any]) -> tuple[float, float]:
        return across.pixel(row["intensity"]), HEIGHT - upward.pixel(row["rate"])

    roofs = dict.fromkeys(line["roof"] for line in lines)
    drawn = [[spot(line) for line in lines if line["roof"] == roof] for roof in roofs]
    free = Free((WIDTH, HEIGHT), [spot(row) for row in rows], drawn)
    asked = [row for row in rows if row["asked"]]
    placed = []
    for row in asked or _by_interest(rows)[:_MOST_LABELS]:
        box = free.take(spot(row), text_width(row["shown"], FONT) + 2 * _PAD, FONT + 2, _FAR)
        if box:
            near_x, near_y = box.nearest(spot(row))
            middle = HEIGHT - (box.top + box.bottom) / 2
            placed.append(
                row
                | {"at": across.value(box.left + _PAD), "height": upward.value(middle)}
                | {"near_x": across.value(near_x), "near_y": upward.value(HEIGHT - near_y)}
            )
    return placed


def _by_interest(rows: Rows) -> Rows:
    """Return the baseline, then in turn the points with the highest and the lowest share."""
    others = sorted((row for row in rows if not row["baseline"]), key=lambda row: -row["share"])
    turns = [others.pop(0 if turn % 2 == 0 else -1) for turn in range(len(others))]
    return [*(row for row in rows if row["baseline"]), *turns]
