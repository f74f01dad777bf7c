"""Differences of means by Student's t, for any level and number of observations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance


@dataclass(frozen=True)
class Difference:
    """Mean of B less mean of A, with the ends of its interval."""

    value: float
    low: float
    high: float

    def clear_of(self, bound: float) -> bool:
        """Return whether the whole interval lies further from zero than ``bound``."""
        return self.low > bound or self.high < -bound

    def times(self, factor: float) -> "Difference":
        """Return the difference of ``factor`` times the means."""
        return Difference(self.value * factor, self.low * factor, self.high * factor)


def difference(a: Sequence[float], b: Sequence[float], level: float) -> Difference:
    """Return mean(b) - mean(a) with its interval of ``level``; two values a side at least.

    Welch's: the sides may vary unequally (Welch 1947; Satterthwaite's degrees of freedom).
    """
    value = fmean(b) - fmean(a)
    errors = [variance(side) / len(side) for side in (a, b)]
    if sum(errors) == 0:
        return Difference(value, value, value)
    shares = [error / sum(errors) for error in errors]
    parts = sum(share**2 / (len(side) - 1) for share, side in zip(shares, (a, b), strict=True))
    reach = point(level, 1 / parts) * math.sqrt(sum(errors))
    return Difference(value, value - reach, value + reach)


def point(level: float, freedom: float) -> float:
    """Return the half-width of a two-sided interval of ``level``, in standard errors.

    ``freedom``: degrees of freedom, above 0. By bisection of the incomplete beta function.
    """
    low, high = 0.0, 1.0
    while _outside(high, freedom) > 1 - level:
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _outside(middle, freedom) > 1 - level else (low, middle)
    return (low + high) / 2


def _outside(t: float, freedom: float) -> float:
    """Return the probability of |T| > t (Abramowitz and Stegun, 26.7.1 and 26.5.27)."""
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only below
        return 1 - _incomplete_beta(b, a, 1 - x)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logs + a * math.log(x) + b * math.log1p(-x)) / a
    return front * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the beta function (A. and S. 26.5.8).

    Evaluated backwards from ever more terms, until more of them change nothing.
    """
    previous, terms = 0.0, 16
    while True:
        value = 1.0
        for step in range(terms, 0, -1):
            half = step // 2
            if step % 2:
                term = -(a + half) * (a + b + half) / ((a + 2 * half) * (a + 2 * half + 1))
            else:
                term = half * (b - half) / ((a + 2 * half - 1) * (a + 2 * half))
            value = 1 + term * x / value
        if abs(value - previous) <= 1e-13 * abs(value):
            return 1 / value
        previous, terms = value, 2 * terms
