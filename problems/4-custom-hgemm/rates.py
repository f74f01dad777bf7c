"""The work of a product, and rates from it."""

import math
from collections.abc import Sequence

from checking import Shape


def flop(shape: Shape) -> int:
    """Return the floating-point operations of a product."""
    return 2 * math.prod(shape)


def tflops(work: float, us: Sequence[float]) -> list[float]:
    """Return the rate in TFLOP/s for each time of ``work`` operations."""
    return [work / time / 1e6 for time in us]


def of_tensor_rate(
    rates: Sequence[float], mhz: Sequence[float], flop_per_cycle: float
) -> list[float]:
    """Return each rate, in TFLOP/s, in % of the tensor cores' at the clock counted meanwhile.

    Turns without a known clock are left out.
    """
    pairs = zip(rates, mhz, strict=True)
    return [1e8 * rate / (clock * flop_per_cycle) for rate, clock in pairs if math.isfinite(clock)]
