"""Every variant of a case under the roofs of its GPU, measured and the datasheet's."""

from typing import Any

from harness.analysis import datasheets
from harness.analysis import roofline as analysis
from harness.report.axes import DecadeAxis
from harness.report.chart import BLUE, HEIGHT, INK, ORANGE, WIDTH, Rows, svg
from harness.report.escape import Markdown
from harness.report.labels import beside
from harness.report.page import Page

_LINE = 11
"""Pixels from one small label to the next."""


def roofline(page: Page, name: str, case: str, flop: float, caption: str, **how: str) -> Markdown:
    """Draw every variant of a case that has time and bytes under the roofs.

    ``flop``: operations of a step. ``how``: the metrics ``time`` (ms) and ``bytes``, the ``kind``
    of arithmetic whose rate is the roof, such as "bf16", and, where one variant timed all in turn
    as regions, that variant as ``within``.
    """
    return page.figure(name, "roofline", draw_roofline(page, case, flop, how), caption)


def draw_roofline(page: Page, case: str, flop: float, how: dict[str, str]) -> str | None:
    """Return the figure as SVG, None without a roof or a point; ``how`` as in :func:`roofline`."""
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
            "shown": _named(point, roofs[0]),
            "baseline": point.variant == page.problem.baseline,
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


def _named(point: analysis.Point, roof: analysis.Roof) -> str:
    return f"{point.variant} {100 * point.tflop_s / roof.at(point.intensity):.0f} %"


def intensity_ends(points: list[float], ridges: list[float]) -> tuple[float, float]:
    """Return the least and the greatest intensity to draw: points, and both parts of each roof."""
    return min(min(points) / 2, min(ridges) / 4), max(max(points) * 2, max(ridges) * 4)


def draw(rows: Rows, lines: Rows) -> str:
    """Return points under roofs as SVG, both axes logarithmic, each named beside its neighbours.

    Rows: intensity (FLOP a byte), rate (TFLOP/s), shown, baseline; lines: roof, intensity, rate.
    """
    import altair as alt

    across = DecadeAxis([row["intensity"] for row in (*rows, *lines)], WIDTH)
    rates = [row["rate"] for row in (*rows, *lines)]
    upward = DecadeAxis([min(rates) / 2, 1.4 * max(rates)], HEIGHT)  # room above the roofs

    def x(field: str) -> Any:
        title = "FLOP per byte of device memory"
        return alt.X(f"{field}:Q", title=title, scale=across.scale(), axis=across.axis())

    def y(field: str) -> Any:
        return alt.Y(f"{field}:Q", title="TFLOP/s", scale=upward.scale(), axis=upward.axis())

    roofs = list(dict.fromkeys(line["roof"] for line in lines))
    dashes = alt.Scale(domain=roofs, range=[[1, 0], [5, 4]][: len(roofs)])
    colour = alt.condition("datum.baseline", alt.value(ORANGE), alt.value(BLUE))
    roof = alt.Chart(alt.Data(values=lines)).mark_line(color=INK, strokeWidth=1.5)
    base = alt.Chart(alt.Data(values=_placed(rows, across, upward)))
    layered = (
        roof.encode(
            x=x("intensity"),
            y=y("rate"),
            strokeDash=alt.StrokeDash("roof:N", title=None, scale=dashes),
            order="intensity:Q",
        )
        + base.mark_rule(color=INK, strokeWidth=0.7, opacity=0.6).encode(
            x=x("intensity"), y=y("rate"), x2="at:Q", y2="height:Q"
        )
        + base.mark_point(filled=True, size=60, opacity=1).encode(
            x=x("intensity"), y=y("rate"), color=colour
        )
        + base.mark_text(align="left", dx=2, color=INK, fontSize=9).encode(
            x=x("at"), y=y("height"), text="shown:N"
        )
    )
    return svg(layered.properties(width=WIDTH, height=HEIGHT))


def _placed(rows: Rows, across: DecadeAxis, upward: DecadeAxis) -> Rows:
    """Return the rows with the place of their labels as ``at`` and ``height``, in data units."""
    spots = [(across.pixel(row["intensity"]), HEIGHT - upward.pixel(row["rate"])) for row in rows]
    places = beside(spots, HEIGHT, _LINE, 6 * _LINE)
    return [
        row | {"at": across.value(left), "height": upward.value(HEIGHT - top)}
        for row, (left, top) in zip(rows, places, strict=True)
    ]
