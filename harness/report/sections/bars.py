"""Bars: a metric with intervals and samples on a log axis, the baseline's value as a line."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from harness.analysis.statistics import Rounds
from harness.report.axes import ClampedLogAxis
from harness.report.chart import BLUE, GAP, INK, ORANGE, WIDTH, Rows, label_axis, svg
from harness.report.escape import Markdown
from harness.report.numbers import measured
from harness.report.page import Page

_MOST_TICKS = 40


class Bar(NamedTuple):
    """A bar's label, where its value comes from, and whether it is the baseline's."""

    label: str
    metric: str
    variant: str
    case: str
    baseline: bool


def bars(page: Page, name: str, metric: str, case: str, caption: str) -> Markdown:
    """Draw a metric of all variants in a case."""
    problem = page.problem
    entries = [
        Bar(variant.label, metric, key, case, key == problem.baseline)
        for key, variant in problem.variants.items()
    ]
    alt = f"{problem.metric(metric).label} by variant"
    return page.figure(name, alt, draw_bars(page, metric, entries), caption)


def draw_bars(page: Page, metric: str, entries: Iterable[Bar]) -> str | None:
    """Return the figure of ``metric`` as SVG, None where no entry was measured."""
    rows = [row for entry in entries for row in _row(page, entry)]
    definition = page.problem.metric(metric)
    return draw(rows, f"{definition.label}, {definition.unit}") if rows else None


def _row(page: Page, entry: Bar) -> Iterable[dict[str, Any]]:
    place = (entry.metric, entry.variant, entry.case)
    value = page.metrics.get(*place)
    if value.value is not None:
        yield {
            "label": entry.label,
            "value": value.value,
            "low": value.low,
            "high": value.high,
            "samples": ticks(page.metrics.samples(*place)),
            "shown": measured(value, interval=False),
            "baseline": entry.baseline,
        }


def ticks(rounds: Rounds) -> Rows:
    """Return samples by value: all, or 40 of them from the smallest to the largest."""
    ordered = sorted(value for values in rounds.values() for value in values)
    last = len(ordered) - 1
    if last >= _MOST_TICKS:
        ordered = [ordered[round(i * last / (_MOST_TICKS - 1))] for i in range(_MOST_TICKS)]
    return [{"value": value} for value in ordered]


def draw(rows: Rows, title: str) -> str:
    """Return points with intervals as SVG, each over a strip of ticks, one for each sample.

    Rows: label, value, low, high, samples (value), shown, baseline.
    """
    import altair as alt

    axis = ClampedLogAxis([value for row in rows for value in _extent(row)])
    lines = [row["value"] for row in rows if row["baseline"]]
    points = [row | {"beside": axis.text_start(row["high"], row["shown"], lines)} for row in rows]
    samples = [
        sample | {"label": row["label"], "baseline": row["baseline"]}
        for row in rows
        for sample in row["samples"]
    ]

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", title=title, scale=axis.scale())

    y = label_axis([row["label"] for row in rows])
    colour = alt.condition("datum.baseline", alt.value(ORANGE), alt.value(BLUE))
    base = alt.Chart(alt.Data(values=points)).encode(y=y)
    rule = alt.Chart(alt.Data(values=[{"value": line} for line in lines]))
    # A name of each tick for screen readers would be more than half of the file.
    tick = alt.Chart(alt.Data(values=samples)).mark_tick(
        thickness=1, size=7, opacity=0.6, yOffset=10, aria=False
    )
    layered = (
        rule.mark_rule(color=ORANGE, strokeDash=[4, 3]).encode(x=x("value"))
        + tick.encode(x=x("value"), y=y, color=colour)
        + base.mark_rule(strokeWidth=2).encode(x=x("low"), x2="high:Q", color=colour)
        + base.mark_point(filled=True, size=60, opacity=1).encode(x=x("value"), color=colour)
        + base.mark_text(align="left", dx=GAP, color=INK).encode(x=x("beside"), text="shown:N")
    )
    return svg(layered.properties(width=WIDTH, height=alt.Step(30)))


def _extent(row: dict[str, Any]) -> list[float]:
    """Return every value that a row draws."""
    return [row["low"], row["value"], row["high"], *(sample["value"] for sample in row["samples"])]
