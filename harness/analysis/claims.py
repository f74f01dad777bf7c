"""Claims against evidence: a metric and a bound give a verdict; nothing is evaluated as code."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from harness.analysis import advice
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.analysis.verdict import Verdict, verdict
from harness.problem.model import Advice, AnyClaim, BoundClaim, Device, Place, Problem


@dataclass(frozen=True)
class BoundResult:
    """A claim on a metric or a ratio, the value measured for it, and the verdict."""

    claim: BoundClaim
    measured: Measured
    verdict: Verdict

    @property
    def places(self) -> list[Place]:
        """Return each metric, with variant and case, that the verdict is decided on."""
        return self.claim.sides


@dataclass(frozen=True)
class AdviceResult:
    """An advice, its least gain, the verdict, and the gains of every case; none if not judged."""

    claim: Advice
    measured: Measured
    verdict: Verdict
    gains: tuple[advice.Gain, ...] = ()

    @property
    def places(self) -> list[Place]:
        """Return each metric, with variant and case, that the verdict is decided on."""
        return [
            (self.claim.metric, variant, gain.case)
            for gain in self.gains
            for variant in (self.claim.take, self.claim.instead_of, gain.rival)
            if variant
        ]


ClaimResult: TypeAlias = BoundResult | AdviceResult


def judge(problem: Problem, metrics: Metrics, device: Device) -> list[ClaimResult]:
    """Return every claim of the problem with its verdict, in the manifest's order."""
    return [_judge(problem, claim, metrics, device) for claim in problem.claims]


def advised(results: Iterable[ClaimResult]) -> list[AdviceResult]:
    """Return the results of advice."""
    return [result for result in results if isinstance(result, AdviceResult)]


def _judge(problem: Problem, claim: AnyClaim, metrics: Metrics, device: Device) -> ClaimResult:
    is_elsewhere = claim.needs and claim.needs != device
    nothing = Measured("", why=f"needs {str(claim.needs).upper()}")
    if claim.kind == "advice":
        if is_elsewhere:
            return AdviceResult(claim, nothing, "not measured")
        gains = advice.gains(problem, claim, metrics)
        return AdviceResult(claim, advice.least(gains).gain, advice.worst(gains).verdict, gains)
    measured = nothing if is_elsewhere else _value(claim, metrics)
    decision = "not measured" if is_elsewhere else verdict(measured, claim.bound)
    return BoundResult(claim, measured, decision)


def _value(claim: BoundClaim, metrics: Metrics) -> Measured:
    first, *second = claim.sides
    return metrics.ratio(first, *second) if second else metrics.get(*first)


def exit_code(results: Sequence[ClaimResult], *, strict: bool = False) -> int:
    """Return 1 if a claim is refuted (``strict``: or inconclusive), 3 if none was measured, 0."""
    failing = {"refuted", "inconclusive"} if strict else {"refuted"}
    if any(result.verdict in failing for result in results):
        return 1
    return 3 if all(result.verdict == "not measured" for result in results) else 0
