"""Single values in a worklog's text: a metric, a ratio, a fact, what an interval covers."""

from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.columns import NOT_MEASURED
from harness.report.numbers import between, measured
from harness.report.page import Page


def metric(
    page: Page, name: MetricName, variant: VariantName, case: CaseName, *, interval: bool = True
) -> str:
    """Return a metric with its unit and, unless ``interval`` is false, its 99 % interval."""
    return measured(page.metrics.get(name, variant, case), interval=interval)


def spread(page: Page, name: MetricName, variant: VariantName, case: CaseName) -> str:
    """Return a metric's least and largest median of a process, such as "241 to 337 tok/s".

    Where both are equal it is one value.
    """
    value = page.metrics.get(name, variant, case)
    if value.spread is None or value.spread[0] == value.spread[1]:
        return measured(value)
    return between(*value.spread, value.unit)


def ratio(
    page: Page,
    name: MetricName,
    of: VariantName,
    over: VariantName,
    case: CaseName,
    over_metric: MetricName | None = None,
) -> str:
    """Return a metric of variant ``of`` over that of ``over``, or over ``over_metric`` of it."""
    below = (over_metric or name, over, case)
    return measured(page.metrics.ratio((name, of, case), below))


def sides(page: Page, name: MetricName, of: VariantName, over: VariantName, case: CaseName) -> str:
    """Return both values of a ratio, over the rounds that it has, such as "366 µs → 270 µs"."""
    values = page.metrics.sides((name, of, case), (name, over, case))
    return " → ".join(measured(value, interval=False) for value in values)


def has(page: Page, name: MetricName, variant: VariantName, case: CaseName) -> bool:
    """Return whether a metric was measured."""
    return page.metrics.get(name, variant, case).value is not None


def fact(page: Page, name: str, variant: VariantName, case: CaseName) -> str:
    """Return the text that a variant's timing cell stated as the fact ``name``."""
    return page.metrics.text(name, variant, case) or NOT_MEASURED


def repeats(page: Page, name: MetricName, variant: VariantName, case: CaseName) -> str:
    """Return a phrase on what a metric's interval covers: samples, and processes if several."""
    value = page.metrics.get(name, variant, case)
    if not value.samples:
        return "no samples"
    samples = f"{value.samples} samples"
    if value.rounds > 1:
        return f"{samples} in {value.rounds} processes, interleaved with the other variants"
    return f"{samples} of one process; another process may differ by more"
