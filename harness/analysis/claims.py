"""Claims against evidence: a metric and a bound give a verdict; nothing is evaluated as code."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from harness.analysis import advice
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.analysis.verdict import TESTED, Verdict, meets, verdict
from harness.evidence import calls
from harness.evidence.provenance import Origin, Provenance
from harness.problem import needs, started
from harness.problem.fields import Device
from harness.problem.model import Advice, AnyClaim, BoundClaim, Place, Problem


@dataclass(frozen=True)
class BoundResult:
    """A claim on a metric or a ratio, the value measured for it, and the verdict.

    ``untested``: why the run did not test it, where the claim is not the one that it began with.
    ``worded``: its statement when the run began, where that was another.
    """

    claim: BoundClaim
    measured: Measured
    verdict: Verdict
    untested: str = ""
    worded: str = ""

    @property
    def places(self) -> list[Place]:
        """Return each metric, with variant and case, that the verdict is decided on."""
        return self.claim.sides


@dataclass(frozen=True)
class AdviceResult:
    """An advice, its least gain, the verdict, and the gains of every case; none if not judged.

    ``untested``, ``worded``: as of a bound.
    """

    claim: Advice
    measured: Measured
    verdict: Verdict
    gains: tuple[advice.Gain, ...] = ()
    untested: str = ""
    worded: str = ""

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


def stands(result: ClaimResult) -> bool:
    """Return whether what was measured bears a claim out, tested or described."""
    if result.verdict != "described":
        return result.verdict == "reproduced"
    if isinstance(result, AdviceResult):
        return bool(result.gains) and advice.worst(result.gains).verdict == "reproduced"
    return meets(result.measured, result.claim.bound)


def of_run(problem: Problem, metrics: Metrics, run: Provenance) -> list[ClaimResult]:
    """Return every claim with its verdict by a run.

    It tests the claims that each call began with that measured something of theirs.
    """
    known = started.started(problem)
    began = {claim.id: calls_behind(problem, claim, metrics, run) for claim in problem.claims}
    untested = {name: started.changed(name, known[name], of) for name, of in began.items()}
    words = {name: started.worded(name, known[name], of) for name, of in began.items()}
    results = judge(problem, metrics, run.target.device, untested)
    return [replace(result, worded=words[result.claim.id]) for result in results]


def calls_behind(
    problem: Problem, claim: AnyClaim, metrics: Metrics, run: Provenance
) -> Sequence[Origin]:
    """Return the calls in which the claim's cells began, all where that is not known.

    A run that is gone on with may have a claim that its first call did not know. That call saw
    nothing of it, unless it measured one of the claim's cells.
    """
    spots = needs.uses(problem, [claim], run.target.device)
    return calls.behind(run, [at for spot in spots for at in metrics.started(*spot)])


def judge(
    problem: Problem, metrics: Metrics, device: Device, untested: Mapping[str, str] | None = None
) -> list[ClaimResult]:
    """Return every claim of the problem with its verdict, in the manifest's order.

    ``untested``: why a run did not test a claim, by its id. Such a claim is described.
    """
    reasons = untested or {}
    results = (_judge(problem, claim, metrics, device) for claim in problem.claims)
    return [_as_tested(result, reasons.get(result.claim.id, "")) for result in results]


def advised(results: Iterable[ClaimResult]) -> list[AdviceResult]:
    """Return the results of advice."""
    return [result for result in results if isinstance(result, AdviceResult)]


def _as_tested(result: ClaimResult, untested: str) -> ClaimResult:
    """Return a result as described where the run did not test its claim."""
    if not untested or result.verdict == "not measured":
        return result
    return replace(result, verdict="described", untested=untested)


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
    """Return 1 if a claim is refuted (``strict``: not reproduced), 3 if none was tested, else 0."""
    tested = [result.verdict for result in results if result.verdict in TESTED]
    if "refuted" in tested or (strict and any(each != "reproduced" for each in tested)):
        return 1
    return 0 if tested else 3
