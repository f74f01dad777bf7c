"""The table of a case, a row a variant and a column a metric; and bars of one metric."""

from collections import Counter
from collections.abc import Sequence

from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.bars import Bar, draw_bars
from harness.report.columns import NOT_MEASURED
from harness.report.escape import Markdown, table
from harness.report.numbers import in_cell
from harness.report.page import Page, not_measured


def variants(
    page: Page, case: CaseName, metrics: list[MetricName], ratio: MetricName = ""
) -> Markdown:
    """Return the table of a case, baseline first; a variant that was not measured has no row.

    ``ratio``: a metric whose ratio over the baseline's is the last column.
    """
    problem = page.problem
    base = problem.baseline
    order = [base, *(name for name in problem.variants if name != base)]
    head = ["variant", *_labels(page, metrics)]
    if ratio:
        head.append(f"{problem.metric(ratio).label} over the first row's")
    rows: list[list[str]] = []
    for name in order:
        cells: list[str] = [in_cell(page.metrics.get(metric, name, case)) for metric in metrics]
        if all(cell == NOT_MEASURED for cell in cells):
            continue
        if ratio:
            cells.append(in_cell(page.metrics.ratio((ratio, name, case), (ratio, base, case))))
        rows.append([problem.variants[name].label, *cells])
    return table(head, rows) if rows else not_measured()


def variant_bars(
    page: Page,
    name: str,
    metric: MetricName,
    case: CaseName,
    variants: Sequence[VariantName],
    caption: str,
) -> Markdown:
    """Draw a metric of a case's variants, in their order, the baseline's value as a line."""
    problem = page.problem
    entries = [
        Bar(problem.variants[each].label, metric, each, case, each == problem.baseline)
        for each in variants
    ]
    alt = f"{problem.metric(metric).label}, {case}"
    return page.figure(name, alt, draw_bars(page, metric, entries), caption)


def _labels(page: Page, metrics: list[str]) -> list[str]:
    """Return the metrics' labels, with the region where several metrics have the same label."""
    definitions = [page.problem.metric(name) for name in metrics]
    counts = Counter(metric.label for metric in definitions)
    return [
        f"{metric.label}, {metric.region}"
        if counts[metric.label] > 1 and metric.region
        else metric.label
        for metric in definitions
    ]
