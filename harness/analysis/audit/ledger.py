"""Predicted against achieved: what each fix was expected to save, and what it saved."""

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.analysis import students_t
from harness.analysis.metrics import Metrics

_LEVEL = 0.95


@dataclass(frozen=True)
class Ratio:
    """A time over that of ``reference``, both of one process: metric and variant."""

    metric: str
    reference: str


@dataclass(frozen=True)
class Entry:
    """One fix: ``saved`` is the time of ``before`` less that of ``variant``, None if not measured.

    ``half_width``: of the 95 % interval over rounds, None of a single round. ``predicted``: None
    where nothing was. All in the metric's unit.
    """

    variant: str
    before: str
    predicted: float | None
    saved: float | None
    half_width: float | None

    @property
    def error(self) -> float | None:
        """Return the prediction's distance as a fraction of what was saved, None if unknown.

        Of a fix that saved no more than its interval there is no such fraction.
        """
        if self.predicted is None or self.saved is None:
            return None
        if abs(self.saved) <= (self.half_width or 0.0):
            return None
        return abs(self.predicted - self.saved) / abs(self.saved)


def entries(
    metrics: Metrics,
    case: str,
    metric: str,
    predicted: str,
    variants: Sequence[str],
    ratio: Ratio | None = None,
) -> tuple[Entry, ...]:
    """Return an entry for each variant after the first: what it saves against the one before.

    ``metric`` is the time, ``predicted`` the metric that holds the predicted saving. A saving is
    the difference of two times, or of two ratios in units of the reference's mean time: of both,
    that with the narrower interval.
    """
    pairs = itertools.pairwise(variants)
    return tuple(_entry(metrics, case, metric, predicted, pair, ratio) for pair in pairs)


def _entry(
    metrics: Metrics,
    case: str,
    metric: str,
    predicted: str,
    pair: tuple[str, str],
    ratio: Ratio | None,
) -> Entry:
    before, variant = pair
    saved, half_width = _mean(list(_by_round(metrics, case, metric, before, variant)))
    unit = ratio and _mean_time(metrics, case, metric, ratio.reference)
    if ratio and unit:
        shares = _by_round(metrics, case, ratio.metric, before, variant)
        paired, width = _mean([unit * share for share in shares])
        if width is not None and (half_width is None or width < half_width):
            saved, half_width = paired, width
    expected = metrics.get(predicted, variant, case).value
    return Entry(variant, before, expected, saved, half_width)


def _mean(savings: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the mean over rounds and half of its interval, None where they are too few."""
    if not savings:
        return None, None
    mean = statistics.fmean(savings)
    if len(savings) == 1:
        return mean, None
    error = statistics.stdev(savings) / math.sqrt(len(savings))
    return mean, students_t.point(_LEVEL, len(savings) - 1) * error


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


def median_error(found: Sequence[Entry]) -> float | None:
    """Return the median of the predictions' errors, None where none is known."""
    errors = [entry.error for entry in found if entry.error is not None]
    return statistics.median(errors) if errors else None
