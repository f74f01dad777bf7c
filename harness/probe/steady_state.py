"""When a series of samples has settled, how well its median is known, and what sticks out.

Plain functions of a list in the order in which it was measured, so that they can be simulated.
"""

import math
from collections.abc import Sequence
from statistics import median

_BATCH = 5
_NORMAL = 1.959964  # two-sided 95 % point of the normal distribution
_FAR = 5 * 1.4826  # five standard deviations, if they are normal, in median absolute deviations


def warm_up(values: Sequence[float]) -> int:
    """Return the number of unsettled samples at the start: a multiple of five, at most half.

    MSER-5 (White 1997; White, Cobb and Spratt 2000): of all cuts, the one that leaves the least
    squared standard error of the mean of batches of five. A batch stands for its median here, so
    that one sample far off does not cut away what was measured before it.
    """
    batches = [
        median(values[start : start + _BATCH])
        for start in range(0, len(values) - _BATCH + 1, _BATCH)
    ]
    best, cut = math.inf, 0
    mean = squares = 0.0
    # From the end, so that each cut adds one batch to the mean and the sum of squares (Welford).
    for kept, value in enumerate(reversed(batches), start=1):
        change = value - mean
        mean += change / kept
        squares += change * (value - mean)
        error, dropped = squares / kept**2, len(batches) - kept
        if dropped <= len(batches) // 2 and kept >= 2 and error <= best:
            best, cut = error, dropped
    return cut * _BATCH


def ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the median's 95 % interval, infinite where there are too few samples.

    They are order statistics (Conover 1999, 3.2), so no distribution is supposed.
    """
    count = len(values)
    rank = math.floor(count / 2 - _NORMAL * math.sqrt(count) / 2 + 0.5)
    if rank < 1:
        return -math.inf, math.inf
    ordered = sorted(values)
    return ordered[rank - 1], ordered[count - rank]


def half_width(values: Sequence[float]) -> float:
    """Return half of the width of the median's 95 % interval, relative to the median."""
    low, high = ends(values)
    middle = median(values) if values else 0.0
    return (high - low) / 2 / middle if middle > 0 else math.inf


def outliers(values: Sequence[float]) -> list[bool]:
    """Return for each sample whether it is more than five deviations from the median.

    The deviation is the median absolute one, scaled to the normal distribution's.
    """
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    return [abs(value - middle) > _FAR * spread if spread else False for value in values]
