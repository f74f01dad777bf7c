"""Hardware counters of the baseline and of its twin, side by side."""

import polars as pl

from harness.report.arguments import CaseName
from harness.report.columns import DASH
from harness.report.escape import Markdown, escape, table
from harness.report.numbers import number, scaled
from harness.report.page import Page, not_measured

from . import grading

_TIME = "gpu__time_duration.sum"
_NS_IN_MS = 1e6
Values = dict[str, tuple[float, str]]
"""A launch's metrics: value and unit by name."""


def twins(page: Page, case: CaseName, *names: str) -> Markdown:
    """Return named counters of both variants of a case, each of the launch that takes longest."""
    variants = (page.problem.baseline, grading.twin_of(page.problem))
    both = [_longest(page, variant, case) for variant in variants]
    if not all(both):
        return not_measured("Counters")
    rows = [
        [escape(name), *(_shown(name, values.get(name)) for values in both)]
        for name in (_TIME, *names)
    ]
    head = ["counter, longest launch", *(page.problem.variants[each].label for each in variants)]
    return table(head, rows, whole=True)


def _longest(page: Page, variant: str, case: str) -> Values:
    """Return the metrics of a variant's longest profiled launch, none if none was profiled."""
    tables = page.metrics.capture_with("counters", variant, case)
    if tables is None or tables["counters"].is_empty():
        return {}
    text = pl.col("metric", "unit").cast(pl.String)
    rows = tables["counters"].with_columns(text).drop_nulls("value")
    times = rows.filter(pl.col("metric") == _TIME).sort("value", descending=True)
    launch = (times if times.height else rows)["launch"][0]
    columns = rows.filter(pl.col("launch") == launch).select("metric", "value", "unit")
    return {metric: (value, unit or "") for metric, value, unit in columns.iter_rows()}


def _shown(name: str, known: tuple[float, str] | None) -> str:
    """Return a value as it is read; ncu calls wavefronts of shared memory sectors."""
    if known is None:
        return DASH
    value, unit = known
    if unit == "ns":
        scale, unit = scaled(value / _NS_IN_MS, "ms")
        value /= _NS_IN_MS * scale
    elif name.startswith("memory_l1_wavefronts_shared"):
        unit = "wavefronts"
    return f"{number(value)} {unit}" if unit else number(value)
