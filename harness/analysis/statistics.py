"""Intervals for numbers that were measured more than once.

A round is one process; samples within it share its luck (clock, addresses, autotuned kernels). So
the resampling is in two levels: rounds first, then the samples inside each (Davison & Hinkley,
Bootstrap Methods and their Application, 1997, section 3.8). With one round only the second level is
left, and the interval says nothing about how another process would have done.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

Rounds = Sequence[Sequence[float]]
"""Samples by round."""

_RESAMPLES = 1000
_LEVEL = 0.95
_SEED = 20251114  # fixed, so that a report renders the same twice


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def centre(rounds: Rounds) -> float:
    """Return the mean over rounds of each round's median."""
    return fmean(median(samples) for samples in rounds)


def estimate(rounds: Rounds) -> Interval:
    """Return the centre of ``rounds`` and its bootstrap interval."""
    draw = random.Random(_SEED)  # noqa: S311 - statistics, not secrets
    return _interval(
        centre(rounds), lambda: centre(_resampled(draw, rounds, _picked(draw, rounds)))
    )


def ratio(of: Rounds, over: Rounds) -> Interval:
    """Return centre(of) / centre(over); rounds are drawn in pairs where their number is equal."""
    draw = random.Random(_SEED)  # noqa: S311 - statistics, not secrets

    def once() -> float:
        picked = _picked(draw, of)
        other = picked if len(of) == len(over) else _picked(draw, over)
        return centre(_resampled(draw, of, picked)) / centre(_resampled(draw, over, other))

    return _interval(centre(of) / centre(over), once)


def _picked(draw: random.Random, rounds: Rounds) -> list[int]:
    return draw.choices(range(len(rounds)), k=len(rounds))


def _resampled(draw: random.Random, rounds: Rounds, picked: list[int]) -> list[list[float]]:
    return [draw.choices(rounds[index], k=len(rounds[index])) for index in picked]


def _interval(value: float, once: Callable[[], float]) -> Interval:
    values = sorted(once() for _ in range(_RESAMPLES))
    cut = round((1 - _LEVEL) / 2 * _RESAMPLES)
    return Interval(value, values[cut], values[-cut - 1])
