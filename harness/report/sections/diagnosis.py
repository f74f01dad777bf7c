"""The diagnosis of a variant's captures, as ``harness diagnose`` prints it."""

from weakref import WeakKeyDictionary

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Diagnosis, Finding
from harness.analysis.kernels import short_name
from harness.analysis.metrics import Metrics
from harness.analysis.units import counted
from harness.evidence.capture import Capture
from harness.evidence.kinds import KINDS, unprofiled
from harness.problem.model import Problem
from harness.report.arguments import CaseName, VariantName
from harness.report.escape import Markdown, escape
from harness.report.finding_text import costs, mattering, number_of, printed
from harness.report.page import Page, not_measured

_SHOWN = 2
_CONCLUDED: WeakKeyDictionary[Metrics, dict[tuple[str, str], Diagnosis | None]] = (
    WeakKeyDictionary()
)
"""By variant and case."""


def profiled(problem: Problem, metrics: Metrics, variant: str, case: str) -> list[Capture]:
    """Return the captures of a variant in a case; none where it has no profiled one."""
    tables_by_kind = {
        kind: tables
        for kind in KINDS
        if kind in problem.captures
        and (tables := metrics.capture_of(kind, variant, case)) is not None
    }
    if not tables_by_kind.keys() - {unprofiled()}:
        return []
    return [
        Capture(f"{case}.{variant}", tables, {}, kind) for kind, tables in tables_by_kind.items()
    ]


def concluded(problem: Problem, metrics: Metrics, variant: str, case: str) -> Diagnosis | None:
    """Return the diagnosis of a variant in a case; None where it has no profiled capture.

    It is made once: a worklog and the pages under it show it in several places.
    """
    known = _CONCLUDED.setdefault(metrics, {})
    if (variant, case) not in known:
        captured = profiled(problem, metrics, variant, case)
        known[variant, case] = conclude.diagnose(captured) if captured else None
    return known[variant, case]


def diagnosed(page: Page, case: CaseName) -> bool:
    """Return whether every variant of a case has a capture that can be diagnosed."""
    return all(
        profiled(page.problem, page.metrics, variant, case) for variant in page.problem.variants
    )


def diagnosis(page: Page, variant: VariantName, case: CaseName, most: int = _SHOWN) -> Markdown:
    """Return the ``most`` important findings on a variant's captures, with their numbers."""
    made = concluded(page.problem, page.metrics, variant, case)
    label = page.problem.variants[variant].label
    if made is None:
        return not_measured(f"The diagnosis, {label}")
    shown, rest = mattering(made, most)
    lines = [line for place, each in enumerate(shown, 1) for line in _lines(each, place)]
    if rest:
        lines.append(f"\n{counted(rest, 'more finding')}.")
    return Markdown("\n".join(lines))


def _lines(finding: Finding, place: int) -> list[str]:
    kernel = f", {short_name(finding.kernel)}" if finding.kernel else ""
    where = escape(f"{finding.level}: {finding.where}{kernel}")
    stake = f"; {escape(text)}" if (text := costs(finding)) else ""
    head = f"{place}. {escape(finding.title)} **{escape(finding.id)}**, {where}{stake}."
    numbers = [f"   - {escape(number_of(each))}" for each in printed(finding)]
    following = [f"   - next: {escape(each)}" for each in finding.next]
    return [head, *numbers, *following]
