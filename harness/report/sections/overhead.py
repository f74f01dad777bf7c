"""What each capture costs: a profiled step over an unprofiled one."""

from harness.evidence import kinds
from harness.report.arguments import CaseName
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured


def overhead(page: Page, case: CaseName) -> Markdown:
    """Return, a row a variant, how many times as long a step took under each capture."""
    profiled = kinds.profiled()
    rows = []
    for name, variant in page.problem.variants.items():
        ratios = [page.metrics.overhead(kind, name, case) for kind in profiled]
        if any(ratios):
            cells = ["–" if ratio is None else f"{number(ratio)}×" for ratio in ratios]
            rows.append([variant.label, *cells])
    return table(["variant", *profiled], rows) if rows else not_measured("Cost of the captures")
