"""Claims against evidence: a metric and a bound give a verdict; nothing is evaluated as code."""

from dataclasses import dataclass

from harness.analysis import advice
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.analysis.verdict import Verdict, verdict
from harness.problem.claim_checks import complete
from harness.problem.model import Advice, AnyClaim, BoundClaim, Device, Problem


@dataclass(frozen=True)
class ClaimResult:
    """A claim, the value measured for it, and the verdict.

    An advice's value is its least gain, and ``gains`` are those of every case.
    """

    claim: AnyClaim
    measured: Measured
    verdict: Verdict
    gains: tuple[advice.Gain, ...] = ()


def judge(problem: Problem, metrics: Metrics, device: Device) -> list[ClaimResult]:
    """Return every claim of the problem with its verdict, in the manifest's order."""
    return [_judge(problem, claim, metrics, device) for claim in problem.claims]


def _judge(problem: Problem, claim: AnyClaim, metrics: Metrics, device: Device) -> ClaimResult:
    if claim.needs and claim.needs != device:
        needed = claim.needs.upper()
        return ClaimResult(claim, Measured("", why=f"needs {needed}"), "not measured")
    if isinstance(claim, Advice):
        gains = advice.gains(problem, claim, metrics)
        decision = advice.worst(gains).verdict
        return ClaimResult(claim, advice.least(gains).gain, decision, gains)
    measured = _value(claim, metrics)
    return ClaimResult(claim, measured, verdict(measured, claim.bound))


def _value(claim: BoundClaim, metrics: Metrics) -> Measured:
    variant, case, metric = complete(claim, claim.of)
    if claim.over is None:
        return metrics.get(metric, variant, case)
    other_variant, other_case, other_metric = complete(claim, claim.over)
    return metrics.ratio((metric, variant, case), (other_metric, other_variant, other_case))


def exit_code(results: list[ClaimResult], *, strict: bool = False) -> int:
    """Return 1 if a claim is refuted (``strict``: or inconclusive), 3 if none was measured, 0."""
    failing = {"refuted", "inconclusive"} if strict else {"refuted"}
    if any(result.verdict in failing for result in results):
        return 1
    return 3 if all(result.verdict == "not measured" for result in results) else 0
