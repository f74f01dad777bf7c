"""Predicted against achieved: what each fix was expected to save, and what it saved."""

import math
import statistics
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.analysis import students_t
from harness.analysis.metrics import Metrics
from harness.analysis.statistics import LEVEL

_AT_LIMIT = 95.0
"""Mean power in % of the limit from which the limit, and not the step, may decide the clock."""


@dataclass(frozen=True)
class RatioMetrics:
    """Metrics of one process: its time over that of the variant ``reference``, its mean power.

    ``power`` is in % of the power limit.
    """

    metric: str
    reference: str
    power: str


@dataclass(frozen=True)
class Entry:
    """Fixes: ``saved`` is the time of ``before`` less that of the last of ``variants``.

    ``saved`` is None if that was not measured. ``half_width``: of the interval over rounds,
    None of a single round. ``predicted``: of all ``variants`` together, None where nothing was. All
    in the metric's unit.
    """

    variants: tuple[str, ...]
    before: str
    predicted: float | None
    saved: float | None
    half_width: float | None

    @property
    def differs(self) -> bool:
        """Return whether what was saved differs from zero by more than its interval."""
        if self.saved is None or self.half_width is None:
            return False
        return abs(self.saved) > self.half_width

    @property
    def error(self) -> float | None:
        """Return the prediction's distance as a fraction of what was saved, None if unknown.

        All rows have one, also those that saved less than their interval: what a prediction is off
        by is largest there. Infinite where nothing was saved.
        """
        if self.predicted is None or self.saved is None:
            return None
        distance = abs(self.predicted - self.saved)
        return distance / abs(self.saved) if self.saved else math.inf

    @property
    def wrong_sign(self) -> bool:
        """Return whether a gain was predicted and a loss measured, or the other way round."""
        return (self.predicted or 0.0) * (self.saved or 0.0) < 0

    @property
    def agrees(self) -> bool | None:
        """Return whether the prediction lies within the saving's interval; None if unknown.

        A single round has no interval.
        """
        if self.predicted is None or self.saved is None or self.half_width is None:
            return None
        return abs(self.predicted - self.saved) <= self.half_width


def entries(
    metrics: Metrics,
    case: str,
    metric: str,
    predicted: str,
    variants: Sequence[str],
    ratio: RatioMetrics | None = None,
    joined: Collection[str] = (),
) -> tuple[Entry, ...]:
    """Return an entry for each variant after the first: what it saves against the one before.

    A variant of ``joined`` shares the entry of the variant after it. ``metric`` is the time,
    ``predicted`` the metric that holds the predicted saving. A saving is the difference of two
    times. Where both steps keep the GPU at its power limit, two processes may run at different
    clocks: there it is the difference of two ratios, in units of the reference's mean time.
    """
    steps = _steps(variants, joined)
    return tuple(_entry(metrics, case, metric, predicted, step, ratio) for step in steps)


def _steps(variants: Sequence[str], joined: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield the variants of each entry, behind the one that they are held against."""
    step = [variants[0]]
    for variant in variants[1:]:
        step.append(variant)
        if variant not in joined:
            yield tuple(step)
            step = [variant]


def _entry(
    metrics: Metrics,
    case: str,
    metric: str,
    predicted: str,
    step: tuple[str, ...],
    ratio: RatioMetrics | None,
) -> Entry:
    before, *fixes = step
    variant = fixes[-1]
    unit = None
    if ratio and all(_at_limit(metrics, case, ratio.power, name) for name in (before, variant)):
        unit = _mean_time(metrics, case, metric, ratio.reference)
    if ratio and unit:
        shares = _by_round(metrics, case, ratio.metric, before, variant)
        saved, half_width = _mean([unit * share for share in shares])
    else:
        saved, half_width = _mean(list(_by_round(metrics, case, metric, before, variant)))
    savings = [metrics.get(predicted, name, case).value for name in fixes]
    expected = None if None in savings else sum(filter(None, savings))
    return Entry(tuple(fixes), before, expected, saved, half_width)


def _at_limit(metrics: Metrics, case: str, power: str, variant: str) -> bool:
    """Return whether a step keeps the GPU at its power limit; False where that is not known."""
    share = metrics.get(power, variant, case).value
    return share is not None and share >= _AT_LIMIT


def _mean(savings: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the mean over rounds and half of its interval, None where they are too few."""
    if not savings:
        return None, None
    mean = statistics.fmean(savings)
    if len(savings) == 1:
        return mean, None
    error = statistics.stdev(savings) / math.sqrt(len(savings))
    return mean, students_t.point(LEVEL, len(savings) - 1) * error


def _mean_time(metrics: Metrics, case: str, metric: str, variant: str) -> float | None:
    rounds = [statistics.median(each) for each in metrics.samples(metric, variant, case).values()]
    return statistics.fmean(rounds) if rounds else None


def _by_round(
    metrics: Metrics, case: str, metric: str, before: str, variant: str
) -> Iterator[float]:
    """Yield what was saved in each round that both variants have."""
    of, over = (metrics.samples(metric, name, case) for name in (variant, before))
    for number in sorted(of.keys() & over.keys()):
        yield statistics.median(over[number]) - statistics.median(of[number])


def shortened(metrics: Metrics, case: str, metric: str, rows: Sequence[Entry]) -> float | None:
    """Return by how much the last step is shorter than the first, by the times of both alone.

    None where a step between them is missing.
    """
    if any(one.variants[-1] != after.before for one, after in pairwise(rows)):
        return None
    return _mean(list(_by_round(metrics, case, metric, rows[0].before, rows[-1].variants[-1])))[0]


def median_error(rows: Sequence[Entry]) -> float | None:
    """Return the median of the predictions' errors over these rows, None where none is known."""
    errors = [entry.error for entry in rows if entry.error is not None]
    return statistics.median(errors) if errors else None
