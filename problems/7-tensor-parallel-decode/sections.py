"""What only this study's page shows: how long one GPU waits for the other's own work."""

from statistics import median

from harness.analysis.metrics import of_rounds
from harness.report.arguments import CaseName, VariantName
from harness.report.columns import NOT_MEASURED
from harness.report.numbers import measured
from harness.report.page import Page


def later(page: Page, variant: VariantName, case: CaseName) -> str:
    """Return by how much GPU 1's own work takes longer than GPU 0's, per all-reduce."""
    place = (variant, case)
    first, second, reduces = (
        {number: median(values) for number, values in page.metrics.samples(name, *place).items()}
        for name in ("alone_ms@first", "alone_ms@second", "all_reduces")
    )
    apart = {
        number: [1e3 * (second[number] - first[number]) / reduces[number]]
        for number in first.keys() & second.keys() & reduces.keys()
    }
    if not apart:
        return NOT_MEASURED
    return measured(of_rounds("µs", apart))
