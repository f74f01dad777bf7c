"""Memory over the events of torch's allocator: reserved by pool, allocated, phases by name."""

from typing import TYPE_CHECKING, Any

from harness.evidence.tables import FREED_POOL, Tables
from harness.report.chart import BLUE, GREEN, INK, ORANGE, WIDTH, Rows, svg
from harness.report.escape import Markdown
from harness.report.page import Page

if TYPE_CHECKING:
    import polars as pl

_POOL_COLOURS = (BLUE, GREEN, "#8a6bbe", "#c4574f", "#6c8f2f", "#b08d2e")
"""A colour each for the pools of a figure; segments whose pool is unknown are grey."""
_HEIGHT = 220
_MOST_POINTS = 1500
_MOST_POOL_POINTS = 500
_MOST_POOLS = 5
_CROWDED = 0.03  # of the axis: as wide as a name is high


def timeline(page: Page, name: str, variant: str, case: str, caption: str) -> Markdown:
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
    if not levels.is_empty():
        areas = memory.stacked(events, levels, _MOST_POOL_POINTS, _MOST_POOLS)
        allocated = memory.highest(events, ["allocated_bytes"], _MOST_POOL_POINTS)
        return draw_pools(_pool_rows(areas), _level_rows(allocated), marks)
    points = memory.highest(events, ["allocated_bytes", "reserved_bytes"], _MOST_POINTS)
    rows = [
        {"index": index, "mb": value / 1e6, "series": series}
        for series in ("allocated", "reserved")
        for index, value in points.select("index", f"{series}_bytes").iter_rows()
        if value is not None
    ]
    return draw_totals(rows, marks)


def _pool_rows(areas: "pl.DataFrame") -> Rows:
    return [
        {"index": index, "pool": pool, "mb": size / 1e6} for index, pool, size in areas.iter_rows()
    ]


def _level_rows(levels: "pl.DataFrame") -> Rows:
    return [{"index": index, "mb": size / 1e6} for index, size in levels.iter_rows()]


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


def draw_totals(rows: Rows, marks: Rows) -> str:
    """Return a line a series as SVG. Rows: index, mb, series; marks: index, shown."""
    import altair as alt

    line = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x=alt.X("index:Q", title="allocator event"),
            y=alt.Y("mb:Q", title="MB"),
            color=alt.Color("series:N", title=None, scale=alt.Scale(range=[BLUE, ORANGE])),
        )
    )
    rule, text = _phases(marks)
    return svg((rule + line + text).properties(width=WIDTH, height=_HEIGHT))


def draw_pools(rows: Rows, allocated: Rows, marks: Rows) -> str:
    """Return reserved memory stacked by pool, and allocated memory as a line on it, as SVG.

    Rows: index, pool, mb, pools in the order of their layers; allocated: index, mb; marks: index,
    shown.
    """
    import altair as alt

    line = (
        alt.Chart(alt.Data(values=[row | {"series": "allocated"} for row in allocated]))
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x="index:Q",
            y="mb:Q",
            stroke=alt.Stroke("series:N", title=None, scale=alt.Scale(range=[ORANGE])),
        )
    )
    rule, text = _phases(marks)
    layered = _areas(rows) + rule + line + text
    return svg(layered.properties(width=WIDTH, height=_HEIGHT))


def _areas(rows: Rows) -> Any:
    """Return the stacked areas of the pools."""
    import altair as alt

    pools = list(dict.fromkeys(row["pool"] for row in rows))
    names = [f"reserved: {pool}" for pool in pools]
    palette = iter(_POOL_COLOURS)
    colours = [INK if pool == FREED_POOL else next(palette) for pool in pools]
    areas = [
        row | {"series": names[layer], "layer": layer}
        for row in rows
        for layer in [pools.index(row["pool"])]
    ]
    return (
        alt.Chart(alt.Data(values=areas))
        .mark_area(interpolate="step-after", opacity=0.6)
        .encode(
            x=alt.X("index:Q", title="allocator event"),
            y=alt.Y("mb:Q", title="MB", stack="zero"),
            color=alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=colours)),
            order="layer:O",
        )
    )


def _phases(marks: Rows) -> tuple[Any, Any]:
    """Return a line for each mark, and the names at their upper ends."""
    import altair as alt

    phases = alt.Chart(alt.Data(values=marks))
    rule = phases.mark_rule(color=INK, strokeDash=[2, 3]).encode(x="index:Q")
    text = phases.mark_text(align="left", dx=3, dy=-4, baseline="bottom", color=INK, angle=315)
    return rule, text.encode(x="index:Q", y=alt.value(0), text="shown:N")
