"""The highest rate at which enough requests still meet what is asked of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

_ENOUGH = 0.9
"""Goodput is the rate at which 90 % of requests meet their bounds (Zhong et al., DistServe, OSDI
2024)."""


@dataclass(frozen=True)
class Saturation:
    """The ends of what was bisected, and all that was tried.

    ``rate``: the highest at which enough requests met their bounds, ``missed``: the lowest above it
    at which too few did, each None if none was tried; ``tries``: rates with the share that met.
    """

    rate: float | None
    missed: float | None
    tries: tuple[tuple[float, float], ...]


def saturation(
    attained: Callable[[float], float], low: float, high: float, step: float = 0.05
) -> Saturation:
    """Bisect rates between ``low`` and ``high`` until two are less than ``step`` apart, relatively.

    ``attained(rate)`` runs a load and returns the share that met its bounds, as
    ``Recording.attained`` does; it should fall with the rate. With n requests its standard error
    near 0.9 is 0.3/√n, so with 200 requests it is known to 2 points.
    """
    tries: list[tuple[float, float]] = []

    def met(rate: float) -> bool:
        tries.append((rate, attained(rate)))
        return tries[-1][1] >= _ENOUGH

    if not met(low):
        return Saturation(None, low, tuple(tries))
    if met(high):
        return Saturation(high, None, tuple(tries))
    while high / low > 1 + step:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if met(middle) else (low, middle)
    return Saturation(low, high, tuple(tries))
