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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from operator import itemgetter
from statistics import median

from harness.analysis import students_t

Rounds = Mapping[int, Sequence[float]]
"""Samples by the number of their round."""

Chosen = Callable[[Sequence[float]], tuple[float, ...]]
"""Returns a resample of the samples given."""

_RESAMPLES = 999
_CI95, _CI99 = 0.95, 0.99  # levels: the interval that is shown, the one a verdict asks for too
_SEED = 20251114  # fixed, so that a report renders the same twice
_FEW = 7
"""Rounds up to which Student's t is used: of so few a bootstrap-t has few resamples, often nearly
alike, and is far too wide."""
_FEW_SAMPLES = 50
"""Samples up to which the draws are kept."""


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 95 % interval, and the number of rounds that it comes from.

    ``ci99``: the ends of the 99 % interval, which a verdict asks for as well. ``spread``: the least
    and the largest value of a round, None where rounds were not taken one by one.
    """

    value: float
    low: float
    high: float
    rounds: int
    ci99: tuple[float, float]
    spread: tuple[float, float] | None = None


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
    return _exponential(_over_rounds([math.log(value) for value in medians]))


def ratio(of: Rounds, over: Rounds) -> Interval:
    """Return the geometric mean over rounds of median(of) / median(over), with its interval.

    Only rounds that both sides have are compared; if there is none, the first of each is. Values
    have to be positive, ValueError otherwise; of one round, the upper ones may be zero, as a count
    of conflicts may.
    """
    compared = [(of[first], over[second]) for first, second in pairs(of, over)]
    least = min(min(upper) for upper, _ in compared)
    may_be_zero = least == 0 and len(compared) == 1
    if min(min(lower) for _, lower in compared) <= 0 or (least <= 0 and not may_be_zero):
        raise ValueError("a ratio of times or sizes that are not positive")
    if len(compared) == 1:
        return _ratio_within(*compared[0])
    logs = [math.log(median(upper) / median(lower)) for upper, lower in compared]
    return _exponential(_over_rounds(logs))


def pairs(of: Rounds, over: Rounds) -> list[tuple[int, int]]:
    """Return the pairs of rounds, of ``of`` and of ``over``, that a ratio compares."""
    shared = sorted(set(of) & set(over))
    return [(number, number) for number in shared] or [(min(of), min(over))]


def unpaired_ratio(of: Rounds, over: Rounds) -> Interval:
    """Return median(of) / median(over) of sides whose rounds did not run beside each other.

    The interval is Welch's, of the logarithms of the rounds' medians. With fewer than two rounds on
    a side its samples are resampled, and the interval is of one process a side. ValueError where
    any value is not positive.
    """
    if min(value for side in (of, over) for values in side.values() for value in values) <= 0:
        raise ValueError("a ratio of times or sizes that are not positive")
    if min(len(of), len(over)) < 2:
        upper, lower = ([*chain.from_iterable(side.values())] for side in (of, over))
        return _ratio_within(upper, lower)
    logs = [[math.log(median(values)) for values in side.values()] for side in (of, over)]
    ci95, ci99 = (students_t.difference(logs[1], logs[0], level) for level in (_CI95, _CI99))
    rounds = min(map(len, logs))
    return _exponential(Interval(ci95.value, ci95.low, ci95.high, rounds, (ci99.low, ci99.high)))


def _over_rounds(values: Sequence[float]) -> Interval:
    """Return the mean of one value a round, and intervals of the same width to both sides."""
    mean, error = _mean_and_error(values)
    reach95, reach99 = (point * error for point in _points(values)) if error > 0 else (0.0, 0.0)
    ci99 = (mean - reach99, mean + reach99)
    spread = (min(values), max(values))
    return Interval(mean, mean - reach95, mean + reach95, len(values), ci99, spread)


def _exponential(logarithm: Interval) -> Interval:
    """Return the interval of a value from the interval of its logarithm."""
    low, value, high, least, most = map(
        math.exp, (logarithm.low, logarithm.value, logarithm.high, *logarithm.ci99)
    )
    spread = logarithm.spread and (math.exp(logarithm.spread[0]), math.exp(logarithm.spread[1]))
    return Interval(value, low, high, logarithm.rounds, (least, most), spread)


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error; ``statistics.stdev`` is exact and 20 times slower."""
    count = len(values)
    mean = math.fsum(values) / count
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (count - 1) / count)


def _points(values: Sequence[float]) -> tuple[float, float]:
    """Return the half-widths of the 95 % and the 99 % interval, in standard errors."""
    count = len(values)
    if count <= _FEW:
        return _of_few(_CI95, count), _of_few(_CI99, count)
    mean = math.fsum(values) / count
    drawn = map(_mean_and_error, _resamples(values))
    # A resample of one value many times has no error of its own, and says nothing.
    scores = sorted(abs(other - mean) / error for other, error in drawn if error > 0)
    point95, point99 = (scores[math.ceil(level * len(scores)) - 1] for level in (_CI95, _CI99))
    return point95, point99


@cache
def _of_few(level: float, count: int) -> float:
    """Return Student's point for a number of rounds, with the three decimals that tables print.

    The committed reports were rendered with those.
    """
    return round(students_t.point(level, count - 1), 3)


def _within(samples: Sequence[float]) -> Interval:
    """Return the median of one round's samples; its interval is of resampled medians."""
    if min(samples) == max(samples):
        value = median(samples)
        return Interval(value, value, value, 1, (value, value))
    medians = sorted(map(median, _resamples(samples)))
    return Interval(median(samples), *_ends(medians, _CI95), 1, _ends(medians, _CI99))


def _resamples(samples: Sequence[float]) -> Iterator[tuple[float, ...]]:
    """Yield resamples of two samples or more; the same number of them is drawn alike."""
    count = len(samples)
    draws = _draws_of_few(count) if count <= _FEW_SAMPLES else _draws(count)
    return (chosen(samples) for chosen in draws)


def _draws(count: int) -> Iterator[Chosen]:
    """Yield functions that each return a resample of ``count`` samples."""
    draw = random.Random(_SEED)  # noqa: S311 - statistics, not secrets
    for _ in range(_RESAMPLES):
        yield itemgetter(*draw.choices(range(count), k=count))


@lru_cache(maxsize=16)
def _draws_of_few(count: int) -> tuple[Chosen, ...]:
    """Return the same, kept: a report resamples thousands of series of few numbers of samples."""
    return tuple(_draws(count))


def _ratio_within(of: Sequence[float], over: Sequence[float]) -> Interval:
    """Return the ratio of two rounds' medians; its interval is of resampled ratios."""
    draw = random.Random(_SEED)  # noqa: S311 - statistics, not secrets

    def resampled() -> float:
        upper, lower = (median(draw.choices(side, k=len(side))) for side in (of, over))
        return upper / lower

    ratios = sorted(resampled() for _ in range(_RESAMPLES))
    value = median(of) / median(over)
    return Interval(value, *_ends(ratios, _CI95), 1, _ends(ratios, _CI99))


def _ends(ordered: Sequence[float], level: float) -> tuple[float, float]:
    """Return the ends of the middle ``level`` of sorted values."""
    cut = round((1 - level) / 2 * len(ordered))
    return ordered[cut], ordered[-cut - 1]
