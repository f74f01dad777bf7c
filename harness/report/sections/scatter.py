"""A metric of many regions over a number that each states, coloured by what kind each is."""

import math
from typing import Any

from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.axes import DecadeAxis
from harness.report.chart import FAINT, HEIGHT, SERIES, WIDTH, Rows, svg
from harness.report.escape import Markdown
from harness.report.page import Page
from harness.report.sections.regions import stated

Place = tuple[VariantName, CaseName]
"""A variant and a case."""

_DIGITS = (
    (0.6, (1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)),
    (1.2, (1, 1.5, 2, 3, 5, 7)),
    (math.inf, (1, 2, 5)),
)
"""Decades that an axis spans at most, and the digits at which it then has lines."""


def scatter(
    page: Page,
    name: str,
    metric: MetricName,
    over: MetricName,
    place: Place,
    kind: str,
    caption: str,
    level: float | None = None,
) -> Markdown:
    """Draw a point a region: ``metric`` over ``over``, a metric that is a fact of each region.

    ``kind``: the fact whose text colours a region's point; a region without it is left out.
    ``level``: a value to draw as a line, such as the baseline's 100 %.
    """
    alt = f"{page.problem.metric(metric).label} over {page.problem.metric(over).label}"
    return page.figure(name, alt, draw_scatter(page, metric, over, place, kind, level), caption)


def draw_scatter(
    page: Page, metric: str, over: str, place: Place, kind: str, level: float | None
) -> str | None:
    """Return the figure as SVG, None where no region has both numbers and a kind."""
    rows: Rows = []
    for region, text in stated(page, place, kind).items():
        across = page.metrics.get(f"{over}@{region}", *place).value
        upward = page.metrics.get(f"{metric}@{region}", *place).value
        if across and upward:
            rows.append({"kind": text, "across": across, "upward": upward})
    if not rows:
        return None
    problem = page.problem
    titles = [
        _title(problem.metric(name).label, problem.metric(name).unit) for name in (over, metric)
    ]
    return draw(rows, titles[0], titles[1], level)


def draw(rows: Rows, across: str, upward: str, level: float | None) -> str:
    """Return points on two logarithmic axes as SVG; rows: kind, across, upward."""
    import altair as alt

    kinds = sorted({row["kind"] for row in rows})
    levels = [] if level is None else [level]
    x_axis = DecadeAxis(_ends([row["across"] for row in rows]), WIDTH)
    upward_ends = _ends([*(row["upward"] for row in rows), *levels])
    y_axis = DecadeAxis(upward_ends, HEIGHT)
    x = alt.X("across:Q", title=across, scale=x_axis.scale(), axis=_powers(x_axis))
    y = alt.Y("upward:Q", title=upward, scale=y_axis.scale(), axis=_steps(upward_ends))
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=list(SERIES[: len(kinds)])),
        legend=alt.Legend(symbolOpacity=1),
    )
    points = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=36, opacity=0.75)
    chart = points.encode(x=x, y=y, color=colour)
    if levels:
        line = alt.Chart(alt.Data(values=[{"upward": level}])).mark_rule(
            strokeDash=[5, 4], color=FAINT
        )
        chart = line.encode(y=y) + chart
    return svg(chart.properties(width=WIDTH, height=HEIGHT))


def _ends(values: list[float]) -> list[float]:
    """Return values with room around the outermost: a fiftieth of the decades that they span."""
    low, high = min(values), max(values)
    room = max(1.05, (high / low) ** 0.02)
    return [low / room, high * room]


def _steps(ends: list[float]) -> Any:
    """Return a logarithmic axis with so many lines that their numbers have room."""
    import altair as alt

    low, high = (math.log10(end) for end in ends)
    digits = next(digits for decades, digits in _DIGITS if high - low <= decades)
    powers = range(math.floor(low), math.floor(high) + 1)
    values = [digit * 10.0**power for power in powers for digit in digits]
    return alt.Axis(values=values, format=",~g")


def _powers(axis: DecadeAxis) -> Any:
    """Return the axis with a grid line a decade, in powers of ten."""
    bare = axis.axis()
    bare.format = ".0e"
    return bare


def _title(label: str, unit: str) -> str:
    return f"{label}, {unit}" if unit else label
