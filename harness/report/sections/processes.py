"""A metric process by process: what chance decides in each shows across a row."""

from collections.abc import Mapping
from statistics import median

from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.columns import NOT_MEASURED
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured


def processes(
    page: Page, metric: MetricName, places: Mapping[str, tuple[VariantName, CaseName]]
) -> Markdown:
    """Return a row a place, its columns the metric's medians in each process that measured it.

    ``places``: the row's label to its variant and case.
    """
    definition = page.problem.metric(metric)
    scale, unit = (1e3, "µs") if definition.unit == "ms" else (1.0, definition.unit)
    measured = {
        label: page.metrics.samples(metric, variant, case)
        for label, (variant, case) in places.items()
    }
    numbers = sorted({process for rounds in measured.values() for process in rounds})
    rows = [
        [label, *(_median(rounds.get(process), scale) for process in numbers)]
        for label, rounds in measured.items()
    ]
    head = [f"{definition.label}, {unit}", *(f"process {process + 1}" for process in numbers)]
    return table(head, rows) if numbers else not_measured(definition.label)


def _median(values: list[float] | None, scale: float) -> str:
    return number(scale * median(values)) if values else NOT_MEASURED
