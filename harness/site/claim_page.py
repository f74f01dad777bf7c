"""The page of a report's claims: each opens to its samples, its interval and their origin."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.analysis.claims import AdviceResult, ClaimResult
from harness.analysis.verdict import limits
from harness.report import verdicts
from harness.report.page import Page
from harness.site import claim_evidence, strips
from harness.site.claim_evidence import MetricEvidence, prose_html
from harness.site.headed import head, rendered
from harness.site.tree import Tree

if TYPE_CHECKING:
    from markupsafe import Markup

NAME = "claims.md"
_ORDER = ("refuted", "tie", "undecided", "described", "not measured", "reproduced")
"""Verdicts as the table sorts them."""


@dataclass(frozen=True)
class ShownClaim:
    """What the page shows of one claim; ``chart`` is SVG, of a claim on several metrics.

    ``in_worklog`` says whether the worklog has a place for it: that of a CPU shows the judged ones.
    """

    id: str
    verdict: str
    rank: int
    statement: "Markup"
    bound: str
    measured: str
    value: float | None
    reason: str
    chart: str
    sides: tuple[MetricEvidence, ...]
    in_worklog: bool


def add(tree: Tree, study: Page) -> str:
    """Add the page of a report's claims; return its path."""
    folder = study.folder.relative_to(tree.checkout).as_posix()
    claims = list(_claims(study, tree.pages[f"{folder}/README.md"]))
    made = rendered("claims.html.j2", claims=claims)
    page = f"{folder}/{NAME}"
    tree.made[page] = f"{head(study, 'Claims and their evidence')}{made}\n"
    return page


def _claims(study: Page, worklog: str) -> Iterator[ShownClaim]:
    """Yield every claim, in the manifest's order; ``worklog`` is Markdown."""
    evidence = claim_evidence.ClaimEvidence(study)
    for result in study.results:
        claim, value = result.claim, result.measured
        reasons = [verdicts.why(study.problem, result), value.doubt]
        if result.verdict == "refuted" and claim.otherwise:
            reasons.append(f"in truth {claim.otherwise}".rstrip("."))
        yield ShownClaim(
            id=claim.id,
            verdict=result.verdict,
            rank=_ORDER.index(result.verdict),
            statement=prose_html(claim.statement),
            bound=verdicts.promised(result),
            measured=claim_evidence.shown(value),
            value=value.value,
            reason="; ".join(filter(None, reasons)),
            chart=_chart(study, result),
            sides=evidence.sides(result),
            in_worklog=f'<a id="{claim.id}"></a>' in worklog,
        )


def _chart(study: Page, result: ClaimResult) -> str:
    """Return the ratios that decide a claim against its bound; "" of a claim on one metric."""
    asked = limits(result.claim.bound)
    if isinstance(result, AdviceResult):
        cases = study.problem.cases
        rows = [(cases[gain.case].label, gain.gain) for gain in result.gains]
        return strips.svg([], "×", rows, asked)
    if result.claim.over is None:
        return ""
    unit = result.measured.unit
    return strips.svg([], unit, [("ratio", result.measured)], asked)
