"""Claims against evidence: a metric and a bound give a verdict; nothing is evaluated as code."""

import math
from dataclasses import dataclass
from typing import Literal

from harness.analysis.metrics import Measured, Metrics
from harness.analysis.verdict import Side, decide
from harness.problem.checks import complete
from harness.problem.model import Bound, Claim, Device, Problem

Verdict = Literal["reproduced", "refuted", "inconclusive", "not measured"]

_VERDICTS: dict[Side, Verdict] = {
    "inside": "reproduced",
    "outside": "refuted",
    "undecided": "inconclusive",
}


@dataclass(frozen=True)
class ClaimResult:
    """A claim, the value measured for it, and the verdict."""

    claim: Claim
    measured: Measured
    verdict: Verdict


def judge(problem: Problem, metrics: Metrics, device: Device) -> list[ClaimResult]:
    """Return every claim of the problem with its verdict, in the manifest's order."""
    return [_judge(claim, metrics, device) for claim in problem.claims]


def _judge(claim: Claim, metrics: Metrics, device: Device) -> ClaimResult:
    if claim.needs and claim.needs != device:
        needed = claim.needs.upper()
        return ClaimResult(claim, Measured("", why=f"needs {needed}"), "not measured")
    variant, case, metric = complete(claim, claim.of)
    if claim.over is None:
        measured = metrics.get(metric, variant, case)
    else:
        other_variant, other_case, other_metric = complete(claim, claim.over)
        measured = metrics.ratio((metric, variant, case), (other_metric, other_variant, other_case))
    return ClaimResult(claim, measured, verdict(measured, claim.bound))


def verdict(measured: Measured, bound: Bound) -> Verdict:
    """Return the verdict on a bound, by the rule of :mod:`harness.analysis.verdict`.

    Intervals are widened by ``clock_factor`` first: times of a GPU whose clock was low or drifted
    have to decide at any clock that was seen, and times of two GPUs by more than the GPUs differ.
    Times of a GPU that others used decide nothing.
    """
    if measured.value is None or measured.low is None or measured.high is None:
        return "not measured"
    if math.isinf(measured.clock_factor):
        return "inconclusive"
    ci95 = (measured.low, measured.high)
    sampled = measured.samples > measured.rounds or measured.low < measured.high
    ends = [_widened(interval, measured.clock_factor) for interval in (ci95, measured.ci99 or ci95)]
    return _VERDICTS[decide(ends[0], ends[1], limits(bound), sampled=sampled)]


def _widened(ends: tuple[float, float], factor: float) -> tuple[float, float]:
    """Return an interval widened by ``factor`` to both sides."""
    low, high = ends
    return min(low / factor, low * factor), max(high / factor, high * factor)


def limits(bound: Bound) -> tuple[float, float]:
    """Return the least and the most that a bound allows."""
    if bound.between:
        return bound.between
    least = bound.above if bound.above is not None else float("-inf")
    most = bound.below if bound.below is not None else float("inf")
    return least, most


def exit_code(results: list[ClaimResult], *, strict: bool = False) -> int:
    """Return 1 if a claim is refuted (``strict``: or inconclusive), 3 if none was measured, 0."""
    failing = {"refuted", "inconclusive"} if strict else {"refuted"}
    if any(result.verdict in failing for result in results):
        return 1
    return 3 if all(result.verdict == "not measured" for result in results) else 0
