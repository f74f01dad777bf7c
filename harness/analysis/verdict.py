"""The verdict: on which side of a bound an interval lies (docs/statistics.md, "The verdict")."""

import math
from typing import Literal, TypeAlias

from harness.analysis.measured import Measured
from harness.analysis.statistics import point_of_few
from harness.problem.model import Bound

Ends: TypeAlias = tuple[float, float]
Position: TypeAlias = Literal["inside", "outside", "at the bound", "undecided"]
Verdict: TypeAlias = Literal[
    "reproduced", "refuted", "tie", "undecided", "described", "not measured"
]
TESTED: tuple[Verdict, ...] = ("reproduced", "refuted", "tie", "undecided")
"""The verdicts of a claim that a run put to the test."""

_VERDICTS: dict[Position, Verdict] = {
    "inside": "reproduced",
    "outside": "refuted",
    "at the bound": "tie",
    "undecided": "undecided",
}

THRESHOLD = 0.01
"""Share of itself by which a sampled value must be clear of a bound; less is nothing to act on."""

LEAST_PROCESSES = 3
"""Processes from which on a time, rate or energy is judged; fewer describe.

Where processes vary by 1 %, one process calls an eighth of equal pairs different: simulated in
docs/statistics.md, "How well it works".
"""

_EXACT = 1e-9  # relative tolerance for rounding where a bound is met exactly


def verdict(measured: Measured, bound: Bound) -> Verdict:
    """Return the verdict on a bound.

    The interval is widened by ``clock_factor`` first: times of a GPU whose clock was low or drifted
    have to decide at any clock that was seen, and times of two GPUs by more than the GPUs differ.
    Times of a GPU that others used decide nothing, and times of fewer than three processes are
    described.
    """
    if measured.value is None or measured.low is None or measured.high is None:
        return "not measured"
    if is_described(measured):
        return "described"
    if math.isinf(measured.clock_factor):
        return "undecided"
    return _VERDICTS[place(judged_ends(measured), limits(bound), sampled=is_sampled(measured))]


def meets(measured: Measured, bound: Bound) -> bool:
    """Return whether what was measured lies inside a bound, of however few processes.

    Of too few to be judged it is what they gave, as pages print it, and no interval.
    """
    if measured.low is None or measured.high is None or math.isinf(measured.clock_factor):
        return False
    few = measured.spread if is_described(measured) else None
    ends = widened(few, measured.clock_factor) if few else judged_ends(measured)
    return place(ends, limits(bound), sampled=is_sampled(measured)) == "inside"


def is_described(measured: Measured) -> bool:
    """Return whether a value is a time, rate or energy of too few processes to be judged."""
    return measured.timed and measured.rounds < LEAST_PROCESSES


def judged_ends(measured: Measured) -> Ends:
    """Return the interval that a verdict is about, of a value that was measured."""
    return widened((measured.low or 0.0, measured.high or 0.0), measured.clock_factor)


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


def place(interval: Ends, bound: Ends, *, sampled: bool = True) -> Position:
    """Return where an interval lies.

    Inside or outside of a bound a sampled value's whole interval has to be clear of it by
    ``THRESHOLD``; at the bound it lies within that margin on both sides. A counted value meets a
    bound exactly, or misses it. Bounds are inclusive and may be infinite.
    """
    clear = THRESHOLD if sampled else -_EXACT
    (low, high), (least, most) = interval, bound
    if _beyond(low, least, clear) and _beyond(most, high, clear):
        return "inside"
    if _beyond(least, high, clear, strict=True) or _beyond(low, most, clear, strict=True):
        return "outside"
    if any(_within(interval, end) for end in bound):
        return "at the bound"
    return "undecided"


def widened(ends: Ends, factor: float) -> Ends:
    """Return an interval widened by ``factor`` to both sides."""
    low, high = ends
    return min(low / factor, low * factor), max(high / factor, high * factor)


def _within(interval: Ends, end: float) -> bool:
    """Return whether an interval keeps within the margin around one end of a bound."""
    return math.isfinite(end) and all(abs(edge - end) <= THRESHOLD * abs(end) for edge in interval)


def _beyond(more: float, less: float, clear: float, *, strict: bool = False) -> bool:
    """Return whether ``more`` exceeds ``less`` by ``clear`` of the greater of them, in size."""
    if math.isinf(more) or math.isinf(less):
        return more > less
    margin = (abs(clear) if strict else clear) * max(abs(more), abs(less))
    return more > less + margin if strict else more >= less + margin


MOST_FURTHER = 200
"""Rounds beyond which nobody would go on."""


def further_rounds(measured: Measured, bound: Bound) -> int | None:
    """Return how many rounds more would decide an undecided value, None if not ``MOST_FURTHER``.

    The value and the spread of processes are taken to stay; the interval then narrows as Student's
    point over the root of the number of rounds.
    """
    value, low, high, rounds = measured.value, measured.low, measured.high, measured.rounds
    if value is None or low is None or high is None or rounds < LEAST_PROCESSES:
        return None
    for further in range(1, MOST_FURTHER + 1):
        many = rounds + further
        narrower = point_of_few(many) / point_of_few(rounds) * math.sqrt(rounds / many)
        ends = (_narrowed(value, low, narrower), _narrowed(value, high, narrower))
        if place(widened(ends, measured.clock_factor), limits(bound)) != "undecided":
            return further
    return None


def _narrowed(value: float, end: float, share: float) -> float:
    """Return the end of an interval of which a share of the width is left, of factors if it can."""
    if value > 0 and end > 0:
        return float(value * (end / value) ** share)
    return value + share * (end - value)
