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
LEVEL = 0.99
"""Confidence of every interval, printed or judged: of 40 claims on a page, less than half of one is
expected to be decided wrongly."""
_NOT_POSITIVE = "a ratio of times or sizes that are not positive"
_SEED = 20251114  # fixed, so that a report renders the same twice
_FEW = 7
"""Rounds up to which Student's t is used: of so few a bootstrap-t has few resamples, often nearly
alike, and is far too wide."""
_FEW_SAMPLES = 50
"""Samples up to which the draws are kept."""


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval, and the number of rounds that it comes from.

    ``spread``: the least and the largest value of a round, None where rounds were not taken one by
    one.
    """

    value: float
    low: float
    high: float
    rounds: int
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

    Only rounds that both sides have are compared; if there is none, the first of each is. Medians
    have to be positive, ValueError otherwise; of one round all values have to be, as they are
    resampled, but the upper ones may be zero, as a count of conflicts may.
    """
    compared = [(of[first], over[second]) for first, second in pairs(of, over)]
    if len(compared) == 1:
        upper, lower = compared[0]
        if min(lower) <= 0 or min(upper) < 0:
            raise ValueError(_NOT_POSITIVE)
        return _ratio_within(upper, lower)
    medians = [(median(upper), median(lower)) for upper, lower in compared]
    if min(map(min, medians)) <= 0:
        raise ValueError(_NOT_POSITIVE)
    return _exponential(_over_rounds([math.log(upper / lower) for upper, lower in medians]))


def pairs(of: Rounds, over: Rounds) -> list[tuple[int, int]]:
    """Return the pairs of rounds, of ``of`` and of ``over``, that a ratio compares."""
    shared = sorted(set(of) & set(over))
    return [(number, number) for number in shared] or [(min(of), min(over))]


def over_members(rows: Sequence[Sequence[float]]) -> Interval:
    """Return the mean over members that were drawn from many, such as shapes, and its interval.

    ``rows``: a member's medians, one a round, two members at least. Geometric where all are
    positive. The interval has two levels: members differ, and so do the rounds that all of them
    share; the degrees of freedom are Satterthwaite's.
    """
    positive = min(map(min, rows)) > 0
    logs = [[math.log(value) if positive else value for value in row] for row in rows]
    of_members = [math.fsum(row) / len(row) for row in logs]
    of_rounds = [math.fsum(column) / len(column) for column in zip(*logs, strict=True)]
    parts = [
        (_mean_and_error(values)[1] ** 2, len(values) - 1)
        for values in (of_members, of_rounds)
        if len(values) > 1
    ]
    mean, error = math.fsum(of_members) / len(rows), math.fsum(part for part, _ in parts)
    if error > 0:
        freedom = error**2 / math.fsum(part**2 / count for part, count in parts)
        reach = students_t.point(LEVEL, freedom) * math.sqrt(error)
    else:
        reach = 0.0
    spread = (min(of_rounds), max(of_rounds))
    interval = Interval(mean, mean - reach, mean + reach, len(of_rounds), spread)
    return _exponential(interval) if positive else interval


def unpaired_ratio(of: Rounds, over: Rounds) -> Interval:
    """Return median(of) / median(over) of sides whose rounds did not run beside each other.

    The interval is Welch's, of the logarithms of the rounds' medians. With fewer than two rounds on
    a side its samples are resampled, and the interval is of one process a side. ValueError where
    any median, or any value that is resampled, is not positive.
    """
    if min(len(of), len(over)) < 2:
        upper, lower = ([*chain.from_iterable(side.values())] for side in (of, over))
        if min(*upper, *lower) <= 0:
            raise ValueError(_NOT_POSITIVE)
        return _ratio_within(upper, lower)
    medians = [[median(values) for values in side.values()] for side in (of, over)]
    if min(map(min, medians)) <= 0:
        raise ValueError(_NOT_POSITIVE)
    logs = [[math.log(value) for value in side] for side in medians]
    difference = students_t.difference(logs[1], logs[0], LEVEL)
    rounds = min(map(len, logs))
    return _exponential(Interval(difference.value, difference.low, difference.high, rounds))


def _over_rounds(values: Sequence[float]) -> Interval:
    """Return the mean of one value a round, with an interval of the same width to both sides."""
    mean, error = _mean_and_error(values)
    reach = _point(values) * error if error > 0 else 0.0
    return Interval(mean, mean - reach, mean + reach, len(values), (min(values), max(values)))


def _exponential(logarithm: Interval) -> Interval:
    """Return an interval of logarithms as one of the values themselves."""
    value, low, high = map(math.exp, (logarithm.value, logarithm.low, logarithm.high))
    spread = logarithm.spread and (math.exp(logarithm.spread[0]), math.exp(logarithm.spread[1]))
    return Interval(value, low, high, logarithm.rounds, spread)


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error; ``statistics.stdev`` is exact and 20 times slower."""
    count = len(values)
    mean = math.fsum(values) / count
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (count - 1) / count)


def _point(values: Sequence[float]) -> float:
    """Return the half-width of the interval, in standard errors."""
    count = len(values)
    if count <= _FEW:
        return point_of_few(count)
    mean = math.fsum(values) / count
    drawn = map(_mean_and_error, _resamples(values))
    # A resample of one value many times has no error of its own, and says nothing.
    scores = sorted(abs(other - mean) / error for other, error in drawn if error > 0)
    return scores[math.ceil(LEVEL * len(scores)) - 1]


@cache
def point_of_few(count: int) -> float:
    """Return Student's point for a number of rounds, with the three decimals that tables print."""
    return round(students_t.point(LEVEL, count - 1), 3)


def _within(samples: Sequence[float]) -> Interval:
    """Return the median of one round's samples; its interval is of resampled medians."""
    if min(samples) == max(samples):
        value = median(samples)
        return Interval(value, value, value, 1)
    medians = sorted(map(median, _resamples(samples)))
    return Interval(median(samples), *_ends(medians), 1)


def _resamples(samples: Sequence[float]) -> Iterator[tuple[float, ...]]:
    """Yield resamples of two samples or more; the same number of them is drawn alike."""
    count = len(samples)
    draws = _draws_of_few(count) if count <= _FEW_SAMPLES else _draws(count)
    return (chosen(samples) for chosen in draws)


def _draws(count: int) -> Iterator[Chosen]:
    """Yield functions that each return a resample of ``count`` samples."""
    draw = random.Random(_SEED)  # noqa: S311 - statistics, not secrets
    for _ in range(_RESAMPLES):
        yield _chosen(draw, count)


@lru_cache(maxsize=16)
def _draws_of_few(count: int) -> tuple[Chosen, ...]:
    """Return the same, kept: a report resamples thousands of series of few numbers of samples."""
    return tuple(_draws(count))


def _ratio_within(of: Sequence[float], over: Sequence[float]) -> Interval:
    """Return the ratio of two rounds' medians; its interval is of resampled ratios."""
    counts = len(of), len(over)
    draws = _pairs_of_few(*counts) if max(counts) <= _FEW_SAMPLES else _pairs_drawn(*counts)
    ratios = sorted(median(upper(of)) / median(lower(over)) for upper, lower in draws)
    return Interval(median(of) / median(over), *_ends(ratios), 1)


def _pairs_drawn(of: int, over: int) -> Iterator[tuple[Chosen, Chosen]]:
    """Yield pairs of functions that return a resample of so many samples, of either side."""
    draw = random.Random(_SEED)  # noqa: S311 - statistics, not secrets
    for _ in range(_RESAMPLES):
        yield _chosen(draw, of), _chosen(draw, over)


@lru_cache(maxsize=16)
def _pairs_of_few(of: int, over: int) -> tuple[tuple[Chosen, Chosen], ...]:
    return tuple(_pairs_drawn(of, over))


def _chosen(draw: random.Random, count: int) -> Chosen:
    """Return a function that returns a resample of ``count`` samples."""
    places = draw.choices(range(count), k=count)
    return itemgetter(*places) if count > 1 else tuple


def _ends(ordered: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the middle ``LEVEL`` of sorted values."""
    cut = round((1 - LEVEL) / 2 * len(ordered))
    return ordered[cut], ordered[-cut - 1]
