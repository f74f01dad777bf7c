"""A metric over the sizes that a problem's cases have, a line per variant."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from harness.analysis import roofline
from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.axes import DecadeAxis, ZeroAxis, of_values
from harness.report.chart import FONT, GAP, HEIGHT, SERIES, Rows, svg
from harness.report.escape import Markdown, table
from harness.report.labels import Free, Spot, apart, text_width
from harness.report.page import Page

_PLOT = 390
"""Pixels of the plotting area; right of it stand the names of its lines."""
_NAME_CHARACTERS = 26
_LINE = FONT + 2
"""Pixels from a line of a name to the next."""
_NEAR = 40
"""Pixels from the end of a line to its name, if that stands inside."""

ValueAxis = DecadeAxis | ZeroAxis


def sweep(
    page: Page,
    name: str,
    metric: MetricName,
    by: str,
    cases: Sequence[CaseName],
    variants: Sequence[VariantName],
    caption: str,
) -> Markdown:
    """Draw a metric over the cases' parameter ``by``, such as "m", a line per variant."""
    figure = draw_sweep(page, metric, by, cases, variants)
    return page.figure(name, f"{page.problem.metric(metric).label} over {by}", figure, caption)


def shares(
    page: Page, cases: Sequence[CaseName], variants: Sequence[VariantName], **how: str
) -> Markdown:
    """Return a row a case: the share of what memory or arithmetic allow that each variant reaches.

    ``how``: the metrics ``time`` (ms), ``bytes`` and ``flop`` of a step, and the ``kind`` of
    arithmetic whose measured rate is the ceiling, such as "bf16". A ceiling is the best that any
    GPU of the run reached.
    """
    roof = next(iter(roofline.roofs(roofline.best(page.tables), None, how["kind"])), None)
    names = ("time", "bytes", "flop")
    rows = []
    for case in cases:
        cells = [
            _share([page.metrics.get(how[name], variant, case).value for name in names], roof)
            for variant in variants
        ]
        rows.append([page.problem.cases[case].label, *cells])
    return table(["", *(page.problem.variants[name].label for name in variants)], rows)


def _share(values: Sequence[float | None], roof: roofline.Roof | None) -> str:
    """Return the share of a step's time, bytes and operations."""
    time_ms, moved_bytes, flop = values
    if not roof or not time_ms or not moved_bytes or not flop:
        return "–"
    least_ms, limit = roof.least_time(moved_bytes, flop)
    return f"{100 * least_ms / time_ms:.0f} % of {limit}"


def draw_sweep(
    page: Page, metric: str, by: str, cases: Sequence[str], variants: Sequence[str]
) -> str | None:
    """Return the figure as SVG, None where nothing was measured."""
    definition = page.problem.metric(metric)
    scale, unit = (1e3, "µs") if definition.unit == "ms" else (1.0, definition.unit)
    rows = [
        {
            "series": page.problem.variants[variant].label,
            "size": page.problem.cases[case].params[by],
            "value": scale * value,
        }
        for variant in variants
        for case in cases
        if (value := page.metrics.get(metric, variant, case).value) is not None
    ]
    return draw(rows, f"{definition.label}, {unit}", by.upper()) if rows else None


def draw(rows: Rows, title: str, size_title: str) -> str:
    """Return a line a series over sizes as SVG, each named at its end.

    Sizes are on a logarithmic axis; values, too, if they are too far apart for one from 0. Rows:
    series, size, value.
    """
    import altair as alt

    names = list(dict.fromkeys(row["series"] for row in rows))
    across = DecadeAxis([row["size"] for row in rows], _PLOT)
    upward = of_values([row["value"] for row in rows], HEIGHT)
    if isinstance(upward, DecadeAxis):
        title = f"{title}, log scale"
    colours = alt.Color("series:N", legend=None, scale=alt.Scale(domain=names, range=list(SERIES)))
    sizes = across.sizes([row["size"] for row in rows])
    x = alt.X("size:Q", title=size_title, scale=across.scale(), axis=sizes)
    y = alt.Y("value:Q", title=title, scale=upward.scale(), axis=upward.steps())
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, color=colours)
    layered = base.mark_line(strokeWidth=2) + base.mark_point(filled=True, size=30, opacity=1)
    named = alt.Chart(alt.Data(values=_named(rows, names, across, upward))).encode(color=colours)
    leader = named.mark_rule(strokeDash=[2, 3]).encode(
        x="size:Q", x2=alt.X2("near_x:Q"), y="value:Q", y2="near_y:Q"
    )
    text = named.mark_text(align="left", baseline="middle", dy={"expr": "datum.dy"}).encode(
        x=alt.X("left:Q", scale=across.scale()),
        y=alt.Y("at:Q", scale=upward.scale()),
        text="line:N",
    )
    return svg((leader + layered + text).properties(width=_PLOT, height=HEIGHT))


def _named(rows: Rows, names: list[str], across: DecadeAxis, upward: ValueAxis) -> Rows:
    """Return the lines of each series' name and where they stand, in data units.

    ``left`` and ``at``: a name's left end and middle; ``near_x`` and ``near_y``: the end of the
    leader to it, which is the line's own end where a leader would cross the plot and look like a
    measured level.
    """
    ends = {name: max(_of(rows, name), key=_size_of) for name in names}
    places = _inside(rows, ends, across, upward)
    right = [name for name in names if name not in places]
    tops = [HEIGHT - upward.pixel(ends[name]["value"]) for name in right]
    step = 4 + max((_height(name) for name in right), default=0)
    for name, top in zip(right, apart(tops, HEIGHT, step), strict=True):
        end = _spot(ends[name], across, upward)
        near = (_PLOT + 2 * GAP, top) if end[0] > _PLOT - _NEAR else end
        places[name] = (_PLOT + 3 * GAP, top), near
    return [
        ends[name]
        | {"left": across.value(left), "at": upward.value(HEIGHT - top), "line": line}
        | {"near_x": across.value(near[0]), "near_y": upward.value(HEIGHT - near[1])}
        | {"dy": _LINE * (place - (len(_lines(name)) - 1) / 2)}
        for name, ((left, top), near) in places.items()
        for place, line in enumerate(_lines(name))
    ]


def _inside(
    rows: Rows, ends: dict[str, dict[str, Any]], across: DecadeAxis, upward: ValueAxis
) -> dict[str, tuple[Spot, Spot]]:
    """Return the places of names that have room beside a line that ends early.

    Each is the name's left end and middle, and the end of the leader to it.
    """
    spots = [_spot(row, across, upward) for row in rows]
    drawn = [
        [_spot(row, across, upward) for row in sorted(_of(rows, name), key=_size_of)]
        for name in ends
    ]
    free = Free((_PLOT, HEIGHT), spots, drawn)
    last = max(map(_size_of, rows))
    places = {}
    for name, end in ends.items():
        if end["size"] < last:
            width = max(text_width(line, FONT) for line in _lines(name)) + GAP
            at = _spot(end, across, upward)
            box = free.take(at, width, _height(name), _NEAR)
            if box:
                middle = (box.top + box.bottom) / 2
                places[name] = (box.left + GAP / 2, middle), box.nearest(at)
    return places


def _spot(row: dict[str, Any], across: DecadeAxis, upward: ValueAxis) -> Spot:
    """Return where a row's point lies, in pixels from the plot's upper left corner."""
    return across.pixel(row["size"]), HEIGHT - upward.pixel(row["value"])


def _of(rows: Rows, series: str) -> Rows:
    return [row for row in rows if row["series"] == series]


def _lines(name: str) -> list[str]:
    return wrap(name, _NAME_CHARACTERS)


def _height(name: str) -> float:
    return float(_LINE * len(_lines(name)))


def _size_of(row: dict[str, Any]) -> float:
    return float(row["size"])
