"""How many regions of a cell lie above a level, and how many below it, by kind."""

from collections.abc import Sequence
from statistics import median

from harness.analysis.measured import Measured
from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.escape import Markdown, escape, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured
from harness.report.sections.regions import stated

_ALL = "all"


def tally(
    page: Page, variant: VariantName, case: CaseName, metric: MetricName, level: float, kind: str
) -> Markdown:
    """Return a row a kind of region: how many have ``metric`` above and below ``level``.

    ``kind``: the fact whose text says what kind a region is; a region without it is left out. A
    region counts as above or below where its whole 99 % interval does, else as neither. The median
    is of the regions' values.
    """
    place = (variant, case)
    kinds: dict[str, list[Measured]] = {_ALL: []}
    for region, text in stated(page, place, kind).items():
        value = page.metrics.get(f"{metric}@{region}", *place)
        if value.value is not None:
            kinds[_ALL].append(value)
            kinds.setdefault(text, []).append(value)
    if not kinds[_ALL]:
        return not_measured(page.problem.metric(metric).label)
    limit = f"{number(level)} {page.problem.metric(metric).unit}"
    head = ["", f"above {limit}", f"below {limit}", "neither", "median"]
    rows = [[escape(name), *_row(values, level)] for name, values in kinds.items()]
    return table([escape(title) for title in head], rows)


def _row(values: Sequence[Measured], level: float) -> list[str]:
    above = sum(value.low is not None and value.low > level for value in values)
    below = sum(value.high is not None and value.high < level for value in values)
    middle = median(value.value for value in values if value.value is not None)
    unit = values[0].unit
    return [str(above), str(below), str(len(values) - above - below), f"{number(middle)} {unit}"]
