"""Intervals for numbers that were measured more than once; docs/statistics.md has the reasons.

A round is one process. Samples within it share its luck (clock, addresses, autotuned kernels), so a
round counts as one observation, its median, and the interval comes from the rounds: a symmetric
bootstrap-t over them, Student's t where they are too few to resample. Logarithms are averaged: what
slows a process slows it by a factor, and no time is negative. Ratios are taken within a round, so
that what a round does to both sides cancels. With one round only its samples can be resampled, and
the interval says nothing about how another process would have done.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from harness.analysis import students_t

Rounds = Mapping[int, Sequence[float]]
"""Samples by the number of their round."""

_RESAMPLES = 999
_SHOWN, _SURE = 0.95, 0.99
_SEED = 20251114  # fixed, so that a report renders the same twice
_STUDENT = {
    _SHOWN: {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447},
    _SURE: {2: 63.657, 3: 9.925, 4: 5.841, 5: 4.604, 6: 4.032, 7: 3.707},
}
"""Two-sided points of Student's t by number of rounds (one degree of freedom fewer).

For so few rounds a bootstrap-t is far too wide: its resamples are few, and often nearly alike."""


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 95 % interval, and the number of rounds that it comes from.

    ``ci99``: the ends of the 99 % interval, which a verdict asks for as well.
    """

    value: float
    low: float
    high: float
    rounds: int
    ci99: tuple[float, float]


def estimate(rounds: Rounds) -> Interval:
    """Return the geometric mean over rounds of each round's median, with its interval.

    The arithmetic mean where a median is zero or negative, as a count or a difference may be.
    """
    if len(rounds) == 1:
        (samples,) = rounds.values()
        return _within(samples)
    medians = [median(samples) for samples in rounds.values()]
    if min(medians) <= 0 or len(set(medians)) == 1:
        return _over_rounds(medians)
    return _exponential(_over_rounds([math.log(one) for one in medians]))


def ratio(of: Rounds, over: Rounds) -> Interval:
    """Return the geometric mean over rounds of median(of) / median(over), with its interval.

    Only rounds that both sides have are compared; if there is none, the first of each is. Values
    have to be positive, ValueError otherwise; of one round, the upper ones may be zero, as a count
    of conflicts may.
    """
    compared = [(of[one], over[other]) for one, other in pairs(of, over)]
    least = min(min(first) for first, _ in compared)
    none = least == 0 and len(compared) == 1
    if min(min(second) for _, second in compared) <= 0 or (least <= 0 and not none):
        raise ValueError("a ratio of times or sizes that are not positive")
    if len(compared) == 1:
        return _ratio_within(*compared[0])
    logs = [math.log(median(first) / median(second)) for first, second in compared]
    return _exponential(_over_rounds(logs))


def pairs(of: Rounds, over: Rounds) -> list[tuple[int, int]]:
    """Return which round of ``of`` a ratio compares with which of ``over``."""
    shared = sorted(set(of) & set(over))
    return [(one, one) for one in shared] or [(min(of), min(over))]


def unpaired_ratio(of: Rounds, over: Rounds) -> Interval:
    """Return the same where the sides' rounds did not run beside each other: Welch's interval.

    Of logarithms of the rounds' medians. With fewer than two rounds on a side its samples are
    resampled, and the interval is of one process a side.
    """
    if min(value for side in (of, over) for values in side.values() for value in values) <= 0:
        raise ValueError("a ratio of times or sizes that are not positive")
    if min(len(of), len(over)) < 2:
        first, second = ([one for values in side.values() for one in values] for side in (of, over))
        return _ratio_within(first, second)
    logs = [[math.log(median(values)) for values in side.values()] for side in (of, over)]
    shown, ci99 = (students_t.difference(logs[1], logs[0], level) for level in (_SHOWN, _SURE))
    low, value, high = (math.exp(one) for one in (shown.low, shown.value, shown.high))
    ends = (math.exp(ci99.low), math.exp(ci99.high))
    return Interval(value, low, high, min(map(len, logs)), ends)


def _over_rounds(values: Sequence[float]) -> Interval:
    """Return the mean of one value a round, and intervals of the same width to both sides."""
    mean, error = _mean_and_error(values)
    shown, ci99 = (point * error for point in _points(values)) if error > 0 else (0.0, 0.0)
    ends = (mean - ci99, mean + ci99)
    return Interval(mean, mean - shown, mean + shown, len(values), ends)


def _exponential(found: Interval) -> Interval:
    """Return the interval of what ``found`` is the logarithm of."""
    low, value, high, least, most = (
        math.exp(one) for one in (found.low, found.value, found.high, *found.ci99)
    )
    return Interval(value, low, high, found.rounds, (least, most))


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error; ``statistics.stdev`` is exact and 20 times slower."""
    count = len(values)
    mean = math.fsum(values) / count
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (count - 1) / count)


def _points(values: Sequence[float]) -> tuple[float, float]:
    """Return how many standard errors the 95 % and the 99 % interval reach to each side."""
    count = len(values)
    if count in _STUDENT[_SHOWN]:
        return _STUDENT[_SHOWN][count], _STUDENT[_SURE][count]
    mean = math.fsum(values) / count
    draw = random.Random(_SEED)  # noqa: S311 - statistics, not secrets
    drawn = (_mean_and_error(draw.choices(values, k=count)) for _ in range(_RESAMPLES))
    # A resample of one value many times has no error of its own, and says nothing.
    scores = sorted(abs(other - mean) / error for other, error in drawn if error > 0)
    shown, ci99 = (scores[math.ceil(level * len(scores)) - 1] for level in (_SHOWN, _SURE))
    return shown, ci99


def _within(samples: Sequence[float]) -> Interval:
    draw = random.Random(_SEED)  # noqa: S311 - statistics, not secrets
    medians = sorted(median(draw.choices(samples, k=len(samples))) for _ in range(_RESAMPLES))
    return Interval(median(samples), *_ends(medians, _SHOWN), 1, _ends(medians, _SURE))


def _ratio_within(of: Sequence[float], over: Sequence[float]) -> Interval:
    draw = random.Random(_SEED)  # noqa: S311 - statistics, not secrets

    def once() -> float:
        first, second = (median(draw.choices(side, k=len(side))) for side in (of, over))
        return first / second

    ratios = sorted(once() for _ in range(_RESAMPLES))
    value = median(of) / median(over)
    return Interval(value, *_ends(ratios, _SHOWN), 1, _ends(ratios, _SURE))


def _ends(ordered: Sequence[float], level: float) -> tuple[float, float]:
    cut = round((1 - level) / 2 * len(ordered))
    return ordered[cut], ordered[-cut - 1]
