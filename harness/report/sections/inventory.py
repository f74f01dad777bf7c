"""The contents of a report: for a page that is written without knowing its study."""

from harness.problem.model import Problem
from harness.report.arguments import CaseName
from harness.report.page import Page


def captured(page: Page, table: str, case: CaseName) -> list[str]:
    """Return the variants of a case with a capture that has rows of ``table``, baseline first."""
    return [name for name in _variants(page.problem) if _has_rows(page, table, name, case)]


def measured(page: Page, case: CaseName) -> list[str]:
    """Return the metrics that were measured of a case, in the manifest's order."""
    return [
        metric
        for metric in page.problem.metrics
        if any(
            page.metrics.get(metric, variant, case).value is not None
            for variant in page.problem.variants
        )
    ]


def _has_rows(page: Page, table: str, variant: str, case: str) -> bool:
    tables = page.metrics.capture_with(table, variant, case)
    return tables is not None and not tables[table].is_empty()


def _variants(problem: Problem) -> list[str]:
    base = problem.baseline
    return [base, *(name for name in problem.variants if name != base)]
