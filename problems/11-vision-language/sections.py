"""What only this study's page shows: a burst's stages over time, and the numbers of many sizes."""

from typing import Any

import polars as pl

from harness.report.arguments import CaseName, VariantName
from harness.report.chart import FAINT, GAP, INK, SERIES, WIDTH, Rows, svg
from harness.report.escape import Markdown, table
from harness.report.numbers import in_cell
from harness.report.page import Page

_STAGES = ("decode", "process", "copy", "encode", "prefill", "get batch", "first token")
"""As the cells number them (spans.py); the last two are waits."""
_WAITS = 2
_COLOURS = dict(zip(_STAGES, [*SERIES[: len(_STAGES) - _WAITS], "#d8dee4", "#afb8c1"], strict=True))
_LABELS = {
    "process": "resize, normalise, patches",
    "get batch": "wait for a decoder",
    "first token": "wait for the GPU",
}
_ROW = 22
"""Pixels that a thread's row is high."""


def burst_timeline(
    page: Page,
    name: str,
    rungs: list[VariantName],
    variant: VariantName,
    case: CaseName,
    caption: str,
) -> Markdown:
    """Draw when each stage of a burst ran, of several rungs on one time scale.

    Host threads lie above, the GPU below. Each rung's last turn is drawn, unprofiled.
    """
    tables = page.metrics.capture_of("timing", variant, case)
    panels = []
    if tables is not None:
        labels = [page.problem.variants[rung].label for rung in rungs]
        drawn = [spans(tables["samples"], rung) for rung in rungs]
        panels = [(label, rows) for label, rows in zip(labels, drawn, strict=True) if rows]
    figure = _draw(panels) if panels and len(panels) == len(rungs) else None
    return page.figure(name, f"stages of a burst over time, {' and '.join(rungs)}", figure, caption)


def sizes_table(page: Page, policies: list[str], variant: VariantName, case: CaseName) -> Markdown:
    """Return a row a policy: what its facts say of the encoder's shapes, tokens and padding."""
    names = ("shapes", "tokens", "more_tokens", "window_padding")
    head = ["sizes", *(page.problem.metric(name).label for name in names)]
    rows = []
    for policy in policies:
        values = [page.metrics.get(f"{name}@{policy}", variant, case) for name in names]
        if any(value.value is not None for value in values):
            shown = ["–" if each.value is None else in_cell(each) for each in values]
            rows.append([policy.replace("-", " "), *shown])
    return table(head, rows) if rows else Markdown("*Sizes: not measured.*")


def spans(samples: pl.DataFrame, rung: str) -> Rows:
    """Return a row a span of a rung: x and x2 in ms, thread (-1: GPU), stage and request."""
    found: Rows = []
    for at, stage in enumerate(_STAGES):
        own = samples.filter(pl.col("region") == f"{rung}.{at}")
        columns = {
            key: own.filter(pl.col("metric") == key).sort("index")["value"].to_list()
            for key in ("begun", "ended", "thread", "request")
        }
        if not columns["begun"]:
            continue
        rows = zip(*columns.values(), strict=True)
        for begun, ended, thread, request in rows:
            found.append(
                {
                    "x": begun,
                    "x2": ended,
                    "thread": int(thread),
                    "stage": stage,
                    "request": int(request),
                }
            )
    return found


def _draw(panels: list[tuple[str, Rows]]) -> str:
    """Return labelled panels, one under another on one time scale, as SVG."""
    import altair as alt

    end = max(row["x2"] for _, rows in panels for row in rows)
    there = {row["stage"] for _, rows in panels for row in rows}
    shown = [stage for stage in _STAGES if stage in there]
    data = {f"spans{at}": _placed(rows, shown) for at, (_, rows) in enumerate(panels)}
    charts = [
        _panel(label, rows, name, end, shown)
        for (label, rows), name in zip(panels, data, strict=True)
    ]
    return svg(alt.vconcat(*charts, spacing=24) if charts[1:] else charts[0], **data)


def _threads(rows: Rows) -> list[int]:
    """Return the rows' threads from top to bottom: decoders, the one that launches, the GPU."""
    threads = {row["thread"] for row in rows}
    return [*sorted((each for each in threads if each > 0), reverse=True), 0, -1]


def _placed(rows: Rows, shown: list[str]) -> Rows:
    order = _threads(rows)
    return [
        row
        | {
            "y": order.index(row["thread"]) + 0.08,
            "y2": order.index(row["thread"]) + 0.92,
            "colour": _LABELS.get(row["stage"], row["stage"]),
        }
        for row in rows
        if row["stage"] in shown
    ]


def _panel(label: str, rows: Rows, name: str, end: float, shown: list[str]) -> Any:
    import altair as alt

    order = _threads(rows)
    titles = [{-1: "GPU", 0: "launches"}.get(each, f"decoder {each}") for each in order]
    down = alt.Scale(domain=[len(order), 0], nice=False)
    time = alt.Scale(domain=[0, end], nice=False)
    named = [_LABELS.get(stage, stage) for stage in shown]
    colours = alt.Scale(domain=named, range=[_COLOURS[stage] for stage in shown])
    x = alt.X("x:Q", scale=time, title="ms from the first byte", axis=alt.Axis(tickCount=6))
    y = alt.Y("y:Q", scale=down, axis=None)
    legend = alt.Legend(columns=4, symbolOpacity=1)
    colour = alt.Color("colour:N", title=None, scale=colours, legend=legend)
    box = alt.Chart(alt.NamedData(name)).mark_rect(aria=False)
    boxes = box.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour)
    texts = [{"x": 0, "y": at + 0.5, "text": text} for at, text in enumerate(titles)]
    beside = alt.Chart(alt.Data(values=texts)).mark_text(align="right", dx=-GAP, color=FAINT)
    text = beside.encode(x=alt.X("x:Q", scale=time), y=y, text="text:N")
    sized = (boxes + text).properties(width=WIDTH - 60, height=_ROW * len(order))
    return sized.properties(title=alt.TitleParams(label, anchor="start", color=INK))
