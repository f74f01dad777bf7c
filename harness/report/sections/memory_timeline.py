"""Memory over the events of torch's allocator: reserved by pool, allocated, phases by name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.evidence.tables import FREED_POOL, Tables
from harness.report.arguments import CaseName, VariantName
from harness.report.axes import shown_unit
from harness.report.chart import (
    BLUE,
    FAINT,
    FONT,
    GAP,
    GREEN,
    HALO,
    ORANGE,
    WIDTH,
    Rows,
    svg,
)
from harness.report.escape import Markdown
from harness.report.labels import text_width
from harness.report.page import Page

if TYPE_CHECKING:
    import polars as pl

Unit = tuple[float, str]
"""A unit of memory: its bytes, its symbol."""

_POOL_COLOURS = (BLUE, GREEN, "#8a6bbe", "#c4574f", "#6c8f2f", "#b08d2e")
"""A colour each for the pools of a figure; segments whose pool is unknown are grey."""
_HEIGHT = 220
_MOST_POINTS = 1500
_MOST_POOL_POINTS = 500
_MOST_POOLS = 5
_CROWDED = 0.03  # of the axis: as wide as a name is high


def timeline(page: Page, name: str, variant: VariantName, case: CaseName, caption: str) -> Markdown:
    """Draw a variant's memory over the allocator's events, with its phases."""
    figure = draw_capture(page.metrics.capture_with("memory_timeline", variant, case))
    return page.figure(name, f"memory timeline of {variant}", figure, caption)


def draw_capture(tables: "Tables | None") -> str | None:
    """Return the figure of a memory capture as SVG, None without a capture or its history.

    Reserved memory is drawn by pool where the evidence divides it so.
    """
    import polars as pl

    from harness.analysis import memory

    if tables is None or tables["memory_timeline"].is_empty():
        return None
    events = tables["memory_timeline"].sort("index")
    phases = events.drop_nulls("phase").group_by("phase", maintain_order=True)
    begins = phases.agg(pl.col("index").first()).with_columns(pl.col("phase").cast(pl.String))
    marks = phase_marks(list(begins.iter_rows()), events["index"][-1])
    levels = tables["memory_by_pool"]
    unit = shown_unit(float(events["reserved_bytes"].max() or 1), "B")  # type: ignore[arg-type]  # a number column
    if not levels.is_empty():
        areas = memory.stacked(events, levels, _MOST_POOL_POINTS, _MOST_POOLS)
        allocated = memory.highest(events, ["allocated_bytes"], _MOST_POOL_POINTS)
        return draw_pools(_pool_rows(areas, unit), _level_rows(allocated, unit), marks, unit)
    points = memory.highest(events, ["allocated_bytes", "reserved_bytes"], _MOST_POINTS)
    rows = [
        {"index": index, "held": value / unit[0], "series": series}
        for series in ("allocated", "reserved")
        for index, value in points.select("index", f"{series}_bytes").iter_rows()
        if value is not None
    ]
    return draw_totals(rows, marks, unit)


def _pool_rows(areas: "pl.DataFrame", unit: Unit) -> Rows:
    return [
        {"index": index, "pool": pool, "held": size / unit[0]}
        for index, pool, size in areas.iter_rows()
    ]


def _level_rows(levels: "pl.DataFrame", unit: Unit) -> Rows:
    return [{"index": index, "held": size / unit[0]} for index, size in levels.iter_rows()]


def phase_marks(begins: list[tuple[str, int]], last: int) -> Rows:
    """Return a mark for each phase and its first event; phases that lie close share one name."""
    marks: Rows = []
    for phase, index in begins:
        named = next((mark for mark in reversed(marks) if mark["shown"]), None)
        if named and index - named["index"] < _CROWDED * last:
            named["shown"] += f", {phase}"
            marks.append({"index": index, "shown": ""})
        else:
            marks.append({"index": index, "shown": phase})
    return marks


def draw_totals(rows: Rows, marks: Rows, unit: Unit) -> str:
    """Return a line a series as SVG. Rows: index, held, series; marks: index, shown."""
    import altair as alt

    line = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x=_events(rows),
            y=alt.Y("held:Q", title=unit[1]),
            color=alt.Color("series:N", title=None, scale=alt.Scale(range=[BLUE, ORANGE])),
        )
    )
    layered = alt.layer(line).properties(width=WIDTH, height=_HEIGHT)
    return svg(layered, _phases(marks, rows[-1]["index"]))


def draw_pools(rows: Rows, allocated: Rows, marks: Rows, unit: Unit) -> str:
    """Return reserved memory stacked by pool, and allocated memory as a line on it, as SVG.

    Rows: index, pool, held, pools in the order of their layers; allocated: index, held; marks:
    index, shown.
    """
    import altair as alt

    line = (
        alt.Chart(alt.NamedData("allocated"))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x="index:Q",
            y="held:Q",
            stroke=alt.Stroke("series:N", title=None, scale=alt.Scale(range=[ORANGE])),
        )
    )
    areas, reserved = _areas(rows, unit)
    layered = (areas + line).properties(width=WIDTH, height=_HEIGHT)
    levels = [row | {"series": "allocated"} for row in allocated]
    phases = _phases(marks, rows[-1]["index"])
    return svg(layered, phases, reserved=reserved, allocated=levels)


def _events(rows: Rows) -> Any:
    """Return the horizontal axis, which ends with the last event."""
    import altair as alt

    scale = alt.Scale(domain=[0, max(1, rows[-1]["index"])], nice=False)
    axis = alt.Axis(tickCount=5)
    return alt.X("index:Q", title="event of torch's allocator", scale=scale, axis=axis)


def _areas(rows: Rows, unit: Unit) -> tuple[Any, Rows]:
    """Return the stacked areas of the pools, and the rows that they call "reserved"."""
    import altair as alt

    pools = list(dict.fromkeys(row["pool"] for row in rows))
    names = [f"reserved: {pool}" for pool in pools]
    palette = iter(_POOL_COLOURS)
    colours = [FAINT if pool == FREED_POOL else next(palette) for pool in pools]
    areas = [
        row | {"series": names[layer], "layer": layer}
        for row in rows
        for layer in [pools.index(row["pool"])]
    ]
    chart = (
        alt.Chart(alt.NamedData("reserved"))
        .mark_area(interpolate="step-after", opacity=0.6)
        .encode(
            x=_events(rows),
            y=alt.Y("held:Q", title=unit[1], stack="zero"),
            color=alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=colours)),
            order="layer:O",
        )
    )
    return chart, areas


def _phases(marks: Rows, last: int) -> list[dict[str, Any]]:
    """Return layers: a line for each mark, and the names above in as many rows as they need."""
    named = [mark for mark in marks if mark["shown"]]
    spans = [_span(mark, last) for mark in named]
    tops = {
        mark["index"]: (left, -12 - 17 * row)
        for mark, (_, left, _), row in zip(named, spans, rows_of_names(spans), strict=True)
    }
    placed = []
    for mark in marks:
        left, top = tops.get(mark["index"], (0.0, 0)) if mark["shown"] else (0.0, 0)
        placed.append(mark | {"left": left, "top": top})
    rules = [_rule(mark) for mark in placed]
    names = [_name(mark) for mark in placed if mark["shown"]]
    return [{"layer": rules}, {"layer": names}]


def _rule(mark: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": {"values": [mark]},
        "mark": {"type": "rule", "color": FAINT, "strokeDash": [2, 3]},
        "encoding": {
            "x": {"field": "index", "type": "quantitative"},
            "y": {"value": mark["top"]},
            "y2": {"value": _HEIGHT},
        },
    }


def _name(mark: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "text", "align": "left", "baseline": "middle", "dx": 4}
    return {
        "data": {"values": [mark]},
        "encoding": {
            "x": {"value": mark["left"]},
            "y": {"value": mark["top"]},
            "text": {"field": "shown", "type": "nominal"},
        },
        "layer": [{"mark": text | HALO}, {"mark": text}],
    }


Span = tuple[float, float, float]
"""In pixels from the left: a mark, and the left and the right end of its name."""


def _span(mark: dict[str, Any], last: int) -> Span:
    """Return a mark's place and that of its name, which begins at it unless it would not fit."""
    at = WIDTH * mark["index"] / max(1, last)
    width = text_width(mark["shown"], FONT) + GAP
    left = max(0.0, min(at, WIDTH - width))
    return at, left, left + width


def rows_of_names(spans: Sequence[Span]) -> list[int]:
    """Return the row of each name, 0 the lowest, so that no mark's line crosses another's name.

    A name is above all whose marks lie under it. One that had to move left is placed last, above
    what it would touch.
    """
    rows: dict[int, int] = {}
    moved = [place for place, (at, left, _) in enumerate(spans) if left < at]
    for place in [place for place in reversed(range(len(spans))) if place not in moved]:
        _, left, right = spans[place]
        under = [row for other, row in rows.items() if left < spans[other][0] < right]
        rows[place] = 1 + max(under, default=-1)
    for place in moved:
        touched = [row for other, row in rows.items() if spans[other][2] > spans[place][1]]
        rows[place] = 1 + max(touched, default=-1)
    return [rows[place] for place in range(len(spans))]
