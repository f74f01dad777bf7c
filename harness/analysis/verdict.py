"""The verdict: on which side of a bound an interval lies (docs/statistics.md, "The verdict")."""

import math
from typing import Literal

from harness.analysis.measured import Measured
from harness.problem.model import Bound

Ends = tuple[float, float]
Side = Literal["inside", "outside", "undecided"]
Verdict = Literal["reproduced", "refuted", "inconclusive", "not measured"]

_VERDICTS: dict[Side, Verdict] = {
    "inside": "reproduced",
    "outside": "refuted",
    "undecided": "inconclusive",
}

THRESHOLD = 0.01
"""Share of itself by which a sampled value must be clear of a bound; less is nothing to act on."""

_EXACT = 1e-9  # relative tolerance for rounding where a bound is met exactly


def verdict(measured: Measured, bound: Bound) -> Verdict:
    """Return the verdict on a bound.

    Intervals are widened by ``clock_factor`` first: times of a GPU whose clock was low or drifted
    have to decide at any clock that was seen, and times of two GPUs by more than the GPUs differ.
    Times of a GPU that others used decide nothing.
    """
    if measured.value is None or measured.low is None or measured.high is None:
        return "not measured"
    if math.isinf(measured.clock_factor):
        return "inconclusive"
    ci95, ci99 = judged_ends(measured)
    return _VERDICTS[decide(ci95, ci99, limits(bound), sampled=is_sampled(measured))]


def judged_ends(measured: Measured) -> tuple[Ends, Ends]:
    """Return the 95 % and 99 % interval that a verdict is about, of a value that was measured."""
    ci95 = (measured.low or 0.0, measured.high or 0.0)
    return (
        widened(ci95, measured.clock_factor),
        widened(measured.ci99 or ci95, measured.clock_factor),
    )


def is_sampled(measured: Measured) -> bool:
    """Return whether a value was sampled, not counted or stated."""
    return measured.samples > measured.rounds or measured.low != measured.high


def limits(bound: Bound) -> Ends:
    """Return the least and the most that a bound allows."""
    if bound.between:
        return bound.between
    least = bound.above if bound.above is not None else float("-inf")
    most = bound.below if bound.below is not None else float("inf")
    return least, most


def cleared(bound: Ends) -> Ends:
    """Return the limits that a sampled value's whole 95 % interval must keep, for an inside."""
    (least, most), share = bound, 1 - THRESHOLD
    return (
        least / share if least > 0 else least * share,
        most * share if most > 0 else most / share,
    )


def decide(ci95: Ends, ci99: Ends, bound: Ends, *, sampled: bool = True) -> Side:
    """Return whether a value lies inside of a bound, by its 95 % interval and its 99 % one.

    A sampled value's 95 % interval has to be clear of the bound by THRESHOLD, its 99 % one clear at
    all. A counted value meets a bound exactly. Bounds are inclusive and may be infinite.
    """
    clear = THRESHOLD if sampled else -_EXACT
    sides = {_side(ci95, bound, clear), _side(ci99, bound, min(clear, 0.0))}
    return sides.pop() if len(sides) == 1 else "undecided"


def widened(ends: Ends, factor: float) -> Ends:
    """Return an interval widened by ``factor`` to both sides."""
    low, high = ends
    return min(low / factor, low * factor), max(high / factor, high * factor)


def _side(ends: Ends, bound: Ends, clear: float) -> Side:
    """Return on which side of a bound one interval lies."""
    (low, high), (least, most) = ends, bound
    if _beyond(low, least, clear) and _beyond(most, high, clear):
        return "inside"
    if _beyond(least, high, clear, strict=True) or _beyond(low, most, clear, strict=True):
        return "outside"
    return "undecided"


def _beyond(more: float, less: float, clear: float, *, strict: bool = False) -> bool:
    """Return whether ``more`` exceeds ``less`` by ``clear`` of the greater of them, in size."""
    if math.isinf(more) or math.isinf(less):
        return more > less
    margin = (abs(clear) if strict else clear) * max(abs(more), abs(less))
    return more > less + margin if strict else more >= less + margin
