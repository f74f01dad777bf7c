"""Claims against evidence: a metric and a bound give a verdict; nothing is evaluated as code."""

from dataclasses import dataclass
from typing import Literal

from harness.analysis.metrics import Measured, Metrics
from harness.problem import Bound, Claim, Device, Problem
from harness.problem_checks import complete

Verdict = Literal["reproduced", "refuted", "inconclusive", "not measured"]

_EXACT = 1e-9  # relative room for rounding where a bound is met exactly


@dataclass(frozen=True)
class Judged:
    """A claim, what was measured for it, and what follows."""

    claim: Claim
    measured: Measured
    verdict: Verdict


def judge(problem: Problem, metrics: Metrics, device: Device) -> list[Judged]:
    """Return every claim of the problem with its verdict, in the manifest's order."""
    return [_judge(claim, metrics, device) for claim in problem.claims]


def _judge(claim: Claim, metrics: Metrics, device: Device) -> Judged:
    if claim.needs and claim.needs != device:
        needed = claim.needs.upper()
        return Judged(claim, Measured("", why=f"needs {needed}"), "not measured")
    variant, case, metric = complete(claim, claim.of)
    if claim.over is None:
        measured = metrics.get(metric, variant, case)
    else:
        other_variant, other_case, other_metric = complete(claim, claim.over)
        measured = metrics.ratio((metric, variant, case), (other_metric, other_variant, other_case))
    return Judged(claim, measured, verdict(measured, claim.bound))


def verdict(measured: Measured, bound: Bound) -> Verdict:
    """Return what an interval says of a bound: clear of it on one side, or inconclusive.

    Bounds are inclusive.
    """
    if measured.value is None or measured.low is None or measured.high is None:
        return "not measured"
    least, most = limits(bound)
    room = _EXACT * max(abs(measured.low), abs(measured.high))
    if measured.low >= least - room and measured.high <= most + room:
        return "reproduced"
    if measured.high < least - room or measured.low > most + room:
        return "refuted"
    return "inconclusive"


def limits(bound: Bound) -> tuple[float, float]:
    """Return the least and the most that a bound allows."""
    if bound.between:
        return bound.between
    least = bound.above if bound.above is not None else float("-inf")
    most = bound.below if bound.below is not None else float("inf")
    return least, most


def exit_code(judged: list[Judged]) -> int:
    """Return 1 if a claim is refuted, 3 if none could be measured, else 0."""
    if any(one.verdict == "refuted" for one in judged):
        return 1
    return 3 if all(one.verdict == "not measured" for one in judged) else 0
