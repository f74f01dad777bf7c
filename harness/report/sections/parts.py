"""Parts of a total: a stacked bar a variant, and by what each part changed."""

from collections.abc import Mapping

from harness.problem.model import Metric
from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.axes import linear, shown_unit
from harness.report.chart import (
    FAINT,
    FONT,
    GAP,
    PLOT,
    SERIES,
    Rows,
    halo_text,
    row_labels,
    row_step,
    rows_axis,
    svg,
)
from harness.report.escape import Markdown, table
from harness.report.numbers import measured, size
from harness.report.page import Page, not_measured

REST = "other"
"""The name of the remainder that the named parts leave of the total."""


def parts(
    page: Page,
    name: str,
    case: CaseName,
    variants: list[VariantName],
    caption: str,
    *,
    total: MetricName,
    metrics: list[MetricName],
    beside: list[MetricName],
) -> Markdown:
    """Draw a total of each variant as a stacked bar.

    ``metrics`` are the parts of ``total``; ``beside`` are metrics that stand beside the bar. A
    variant that lacks the total or a part has no bar.
    """
    rows = [
        row for variant in variants for row in _bar(page, case, variant, total, metrics, beside)
    ]
    definition = page.problem.metric(total)
    figure = _draw(rows, definition) if rows else None
    return page.figure(name, f"parts of {definition.label} by variant", figure, caption)


def _draw(rows: Rows, total: Metric) -> str:
    """Return the figure of the bars as SVG, in a unit in which the longest is at least 1."""
    scale, unit = shown_unit(max(row["end"] for row in rows), total.unit)
    scaled = [row | {key: row[key] / scale for key in ("end", "value")} for row in rows]
    names = list(dict.fromkeys(row["part"] for row in rows))
    palette = dict(zip(names, [*SERIES[: len(names) - 1], FAINT], strict=True))
    return _stacked(scaled, f"{total.label}, {unit}", palette)


def parts_changed(
    page: Page,
    case: CaseName,
    variants: list[VariantName],
    total: MetricName,
    metrics: list[MetricName],
) -> Markdown:
    """Return a table of the parts of a total in bytes, and their changes, which add up to its own.

    The first variant's row holds sizes, those of the others their difference to it. A variant that
    was not measured has no row, and without the first there is no table.
    """
    label = page.problem.metric(total).label
    sums = {variant: _divided(page, case, variant, total, metrics) for variant in variants}
    base = sums[variants[0]]
    if base is None:
        return not_measured(f"parts of {label}")
    head = [_label(page, variants[0]), *base, label]
    rows = [["bytes", *(size(round(part)) for part in (*base.values(), sum(base.values())))]]
    for variant, divided in list(sums.items())[1:]:
        if divided is not None:
            changes = [round(divided[part] - base[part]) for part in base]
            shown = [size(change, signed=True) for change in (*changes, sum(changes))]
            rows.append([_label(page, variant), *shown])
    return table(head, rows)


def _divided(
    page: Page, case: str, variant: str, total: str, metrics: list[str]
) -> dict[str, float] | None:
    """Return the value of each part, and of the rest, by label; None if one was not measured."""
    whole, *values = [page.metrics.get(metric, variant, case).value for metric in (total, *metrics)]
    numbers = [value for value in values if value is not None]
    if whole is None or len(numbers) < len(values):
        return None
    labels = (page.problem.metric(metric).label for metric in metrics)
    return dict(zip(labels, numbers, strict=True)) | {REST: whole - sum(numbers)}


def _bar(
    page: Page, case: str, variant: str, total: str, metrics: list[str], beside: list[str]
) -> Rows:
    """Return a row a part of one variant's bar, none if it was not measured."""
    divided = _divided(page, case, variant, total, metrics)
    if divided is None:
        return []
    texts = [page.metrics.get(metric, variant, case) for metric in beside]
    shown = [measured(value, interval=False) for value in texts if value.value is not None]
    bar = {
        "label": _label(page, variant),
        "end": sum(divided.values()),
        "shown": ", ".join(shown),
    }
    return [bar | {"part": part, "value": max(value, 0.0)} for part, value in divided.items()]


def _label(page: Page, variant: str) -> str:
    return page.problem.variants[variant].label


def _stacked(rows: Rows, title: str, palette: Mapping[str, str]) -> str:
    """Return stacked bars as SVG, their parts in the order and colours of ``palette``.

    Rows: label, part, value; and the same in each row of a bar: end (the total) and shown.
    """
    import altair as alt

    ends = {row["label"]: row for row in rows}
    order, parts = list(ends), list(palette)
    scale = linear([(row["end"], row["shown"]) for row in ends.values()], (), PLOT)
    axis = alt.Axis(tickCount=5)
    layers = [row | {"layer": parts.index(row["part"])} for row in rows]
    bar = (
        alt.Chart(alt.Data(values=layers))
        .mark_bar(size=FONT)
        .encode(
            y=rows_axis(order),
            x=alt.X("value:Q", title=title, scale=scale, axis=axis, stack="zero"),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=parts, range=list(palette.values())),
            ),
            order="layer:O",
        )
    )
    beside = alt.Chart(alt.Data(values=list(ends.values()))).encode(y=rows_axis(order))
    text = halo_text(beside.encode(x="end:Q", text="shown:N"), align="left", dx=GAP)
    layered = bar + text + row_labels(order)
    return svg(layered.properties(width=PLOT, height=row_step(order)))
