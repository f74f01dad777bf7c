"""The verdicts on a problem's claims, printed; and those that this run could not give."""

from dataclasses import dataclass
from textwrap import shorten
from typing import Literal

from harness.analysis import claims, reliability
from harness.analysis.claims import ClaimResult
from harness.analysis.metrics import Metrics
from harness.analysis.scope import Scope, scope
from harness.analysis.verdict import Verdict
from harness.cli import output
from harness.evidence.subject import Folder
from harness.problem.model import Problem
from harness.report import verdicts

LEFT_OUT = "not in the short run"
_MOST_NAMES = 6
_MOST_LETTERS = 100
_INDENT = "    "


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    id: str
    kind: Literal["bound", "advice"]
    verdict: Verdict
    statement: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    why: str
    doubt: str


def judge(study: Problem, evidence: Folder) -> tuple[list[ClaimResult], Scope]:
    """Judge a problem's claims by the evidence of a run or report."""
    results = claims.of_run(study, metrics(study, evidence), evidence.origin.run)
    return results, scope(study, results, evidence.origin.run)


def metrics(study: Problem, evidence: Folder) -> Metrics:
    """Return a problem's metrics over the evidence of a run or report."""
    return Metrics(study, evidence.tables, evidence.origin.gpus)


def show(study: Problem, of: Scope, evidence: Folder) -> None:
    """Print each claim to judge, the names of the others, and how many were reproduced.

    The notes on the cells come first, as there may be many.
    """
    for note in reliability.notes(evidence.tables):
        output.prose(f"noticed: {note}", _INDENT)
    for kind in ("bound", "advice"):
        for result in of.judged:
            if result.claim.kind == kind:
                tell(study, result)
    for title, results in ((of.lacks, of.elsewhere), (LEFT_OUT, of.left_out)):
        if results:
            output.prose(f"{title}: {_some([result.claim.id for result in results])}", _INDENT)
    output.say(verdicts.tally(verdicts.by_verdict(of.judged)))


def tell(study: Problem, result: ClaimResult) -> None:
    """Print a claim: verdict and numbers, the statement, and why it is so."""
    claim = result.claim
    promised = ("a " if claim.kind == "advice" else "") + verdicts.promised(result)
    measured = "" if result.measured.value is None else f" {verdicts.value(result)},"
    output.prose(f"{result.verdict}: {claim.id}:{measured} claimed {promised}", _INDENT)
    doubt = shorten(result.measured.doubt, _MOST_LETTERS, placeholder=" …")  # whole on the page
    instead = claim.otherwise if result.verdict == "refuted" else ""
    why = "; ".join(filter(None, [verdicts.why(study, result), doubt]))
    for label, text in (("", claim.statement), ("in truth: ", instead), ("why: ", why)):
        if text:
            said = f"{_INDENT}{label}{' '.join(text.split())}"
            output.prose(said, _INDENT + " " * len(label))


def _some(names: list[str]) -> str:
    """Return the first names, and how many more there are; the page has them all."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def judged(study: Problem, result: ClaimResult, of: Scope) -> Judged:
    """Return a claim with its verdict, as it is printed for programs."""
    measured, left_out = result.measured, result in of.left_out
    return Judged(
        id=result.claim.id,
        kind=result.claim.kind,
        verdict="not measured" if left_out else result.verdict,
        statement=result.claim.statement,
        value=measured.value,
        low=measured.low,
        high=measured.high,
        unit=measured.unit,
        why=LEFT_OUT if left_out else verdicts.why(study, result),
        doubt=measured.doubt,
    )
