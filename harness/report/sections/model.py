"""Measured values beside those of a model, as a figure and as a table."""

from harness.report.axes import linear
from harness.report.chart import (
    BLUE,
    FONT,
    GAP,
    ORANGE,
    PLOT,
    Rows,
    halo_text,
    row_labels,
    row_step,
    rows_axis,
    svg,
)
from harness.report.escape import Markdown, table
from harness.report.numbers import in_cell, number
from harness.report.page import Page

Points = list[tuple[str, str, float]]
"""Variant, case and the model's value, in the metric's unit."""


def model(page: Page, name: str, metric: str, points: Points, caption: str) -> Markdown:
    """Draw a metric's measured values beside the model's."""
    label = page.problem.metric(metric).label
    rows = _rows(page, metric, points)
    figure = draw(rows, f"{label} (bar: measured, tick: model)") if rows else None
    return page.figure(name, f"{label}, measured and model", figure, caption)


def model_table(page: Page, metric: str, points: Points) -> Markdown:
    """Return the table of measured and modelled values, with measured over model."""
    rows = []
    for variant, case, expected in points:
        value = page.metrics.get(metric, variant, case)
        share = "–"
        if value.value is not None and expected:
            share = f"{value.value / expected:.3f}"
        label = page.problem.variants[variant].label
        rows.append([label, case, in_cell(value), number(expected), share])
    return table(["variant", "case", "measured", "model", "measured / model"], rows, 2)


def _rows(page: Page, metric: str, points: Points) -> Rows:
    rows: Rows = []
    for variant, case, expected in points:
        value = page.metrics.get(metric, variant, case).value
        if value is not None:
            label = f"{page.problem.variants[variant].label} ({case})"
            shown = f"{number(value)}, model {number(expected)}"
            rows.append({"label": label, "measured": value, "model": expected, "shown": shown})
    return rows


def draw(rows: Rows, title: str) -> str:
    """Return bars of measured values with the model's as ticks, as SVG.

    Rows: label, measured, model, shown.
    """
    import altair as alt

    order = [row["label"] for row in rows]
    ended = [row | {"end": max(row["measured"], row["model"])} for row in rows]
    scale = linear([(row["end"], row["shown"]) for row in ended], (), PLOT)
    x = alt.X("measured:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))
    base = alt.Chart(alt.Data(values=ended)).encode(y=rows_axis(order))
    bar = base.mark_bar(color=BLUE, size=FONT).encode(x=x)
    tick = base.mark_tick(color=ORANGE, thickness=3, size=2 * FONT).encode(x="model:Q")
    text = halo_text(base.encode(x="end:Q", text="shown:N"), align="left", dx=GAP)
    layered = bar + tick + text + row_labels(order)
    return svg(layered.properties(width=PLOT, height=row_step(order)))
