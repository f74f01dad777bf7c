"""Measured values beside those of a model."""

from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.escape import Markdown, table
from harness.report.numbers import in_cell, number
from harness.report.page import Page

Points = list[tuple[VariantName, CaseName, float]]
"""Variant, case and the model's value, in the metric's unit."""


def model_table(page: Page, metric: MetricName, points: Points) -> Markdown:
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
