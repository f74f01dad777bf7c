"""Bars: a metric with intervals from 0, the baseline and what the GPU reaches at most as lines."""

from collections.abc import Iterable
from statistics import median
from typing import Any, NamedTuple

from harness.analysis import datasheets, roofline
from harness.report.axes import linear, shown_unit
from harness.report.chart import (
    BLUE,
    CARD,
    FAINT,
    FONT,
    GAP,
    INK,
    ORANGE,
    PLOT,
    Rows,
    halo_text,
    row_labels,
    row_step,
    rows_axis,
    svg,
)
from harness.report.numbers import number
from harness.report.page import Page

_OUTLYING = 5
"""A bar as many times as long as the median's and the baseline's is cut, if few are."""
_CUT_AT = 1.2
"""Where it is cut: of the longest that is not."""
_LINE = 18
"""Pixels from the label of a vertical line to the next above it."""


class Bar(NamedTuple):
    """A bar's label, where its value comes from, and whether it is the baseline's."""

    label: str
    metric: str
    variant: str
    case: str
    baseline: bool


def draw_bars(page: Page, metric: str, entries: Iterable[Bar], ceiling: str = "") -> str | None:
    """Return the figure of ``metric`` as SVG, None where no entry was measured."""
    rows = [row for entry in entries for row in _row(page, entry)]
    if not rows:
        return None
    definition = page.problem.metric(metric)
    lines = [row for row in rows if row["baseline"]]
    lines += _ceilings(page, ceiling) if ceiling else []
    scale, unit = shown_unit(_longest(rows), definition.unit)
    rows = [_scaled(row, scale) for row in rows]
    lines = [_scaled(line, scale) for line in lines]
    lines = [line | {"shown": f"{line['label']}: {line['shown']}"} for line in lines]
    return draw(rows, lines, f"{definition.label}, {unit}" if unit else definition.label)


def _row(page: Page, entry: Bar) -> Iterable[dict[str, Any]]:
    value = page.metrics.get(entry.metric, entry.variant, entry.case)
    if value.value is not None:
        yield {
            "label": entry.label,
            "value": value.value,
            "low": value.low,
            "high": value.high,
            "baseline": entry.baseline,
        }


def _ceilings(page: Page, name: str) -> Rows:
    """Return the lines of a rate that was measured and of the datasheet's, where known."""
    best = roofline.best(page.tables).get(name)
    sheet = datasheets.of(page.target.name)
    peak = sheet.rate(name) if sheet else None
    ceilings_by_label = {"highest measured here": best, "datasheet": peak}
    return [
        {"label": label, "value": value, "baseline": False}
        for label, value in ceilings_by_label.items()
        if value
    ]


def _scaled(row: dict[str, Any], scale: float) -> dict[str, Any]:
    """Return a row with its values divided by ``scale``, and its value as text."""
    values = {key: row[key] / scale for key in ("value", "low", "high") if key in row}
    return row | values | {"shown": number(values["value"])}


def draw(rows: Rows, lines: Rows, title: str) -> str:
    """Return bars from 0 with their intervals as SVG, and vertical lines with labels above.

    A few bars that are far longer than the others are cut, so that the others can be told apart.
    Rows: label, value, low, high, shown, baseline; lines: value, shown, baseline.
    """
    import altair as alt

    labels = [row["label"] for row in rows]
    width = PLOT
    rows = _cut(rows)
    title = f"{title} (// longer than drawn)" if any(row["cut"] for row in rows) else title
    scale = linear(
        [(row["high"], row["shown"]) for row in rows], [line["value"] for line in lines], width
    )

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))

    y = rows_axis(labels)
    colour = alt.condition("datum.baseline", alt.value(ORANGE), alt.value(BLUE))
    base = alt.Chart(alt.Data(values=rows)).encode(y=y)
    layers = [base.mark_bar(size=FONT).encode(x=x("value"), color=colour)]
    layers += [_line(line, x("value")) for line in _raised(lines, scale.domain[1])]
    layers.append(base.mark_rule(strokeWidth=2, color=INK).encode(x=x("low"), x2="high:Q"))
    if cuts := [row for row in rows if row["cut"]]:
        cut = alt.Chart(alt.Data(values=cuts)).mark_text(
            text="//", color=CARD, fontSize=2 * FONT, fontWeight="bold", align="right", dx=-GAP
        )
        layers.append(cut.encode(x=x("value"), y=y))
    layers.append(halo_text(base.encode(x=x("high"), text="shown:N"), align="left", dx=GAP))
    # Altair copies all layers of a chart to which it adds one, so they are put together once.
    layered = alt.layer(*layers, row_labels(labels))
    return svg(layered.properties(width=width, height=row_step(labels)))


def _longest(rows: Rows) -> float:
    """Return how far the bars reach that are not to be cut."""
    middle = max(
        median(row["value"] for row in rows), *(row["value"] for row in rows if row["baseline"]), 0
    )
    kept = [row["high"] for row in rows if row["value"] <= _OUTLYING * middle]
    cut = len(rows) - len(kept)
    return float(max(kept if cut <= len(rows) / 3 else (row["high"] for row in rows)))


def _cut(rows: Rows) -> Rows:
    """Return the rows with those that outlie cut to one length, without their intervals."""
    longest = _longest(rows)
    end = _CUT_AT * longest
    ends = {"value": end, "low": end, "high": end, "cut": True}
    return [row | (ends if row["value"] > end else {"cut": False}) for row in rows]


def _raised(lines: Rows, most: float) -> Rows:
    """Return the lines with the height of their label, so that none lies on another's line.

    Labels right of the middle end at their line, the leftmost lowest; the others start at theirs.
    """
    right = sorted((line for line in lines if line["value"] > most / 2), key=_value)
    left = sorted((line for line in lines if line["value"] <= most / 2), key=_value, reverse=True)
    return [
        line | {"top": -12 - _LINE * place, "align": "right" if line in right else "left"}
        for place, line in enumerate([*right, *left])
    ]


def _value(line: dict[str, Any]) -> float:
    return float(line["value"])


def _line(line: dict[str, Any], x: Any) -> Any:
    """Return a dashed line from the bottom of the figure to its label."""
    import altair as alt

    colour = ORANGE if line["baseline"] else FAINT
    base = alt.Chart(alt.Data(values=[line])).encode(x=x)
    rule = base.mark_rule(color=colour, strokeDash=[4, 3]).encode(
        y=alt.value(line["top"]), y2=alt.value("height")
    )
    side = -4 if line["align"] == "right" else 4
    text = halo_text(
        base.encode(y=alt.value(line["top"]), text="shown:N"),
        align=line["align"],
        dx=side,
        baseline="middle",
        color=colour,
    )
    return rule + text
