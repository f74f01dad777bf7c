"""Rates of a product, and their share of what the tensor cores do at the clock counted."""

import math
from collections.abc import Callable
from types import ModuleType

import pytest


def test_rates_and_shares_of_the_tensor_cores(module: Callable[[str], ModuleType]) -> None:
    rates = module("rates")
    flop = rates.flop((4096, 4096, 4096))
    (rate,) = rates.tflops(flop, [flop / 989.4e6])
    assert rate == pytest.approx(989.4)
    # The datasheet's peak is 132 multiprocessors of 4096 operations a cycle at 1830 MHz.
    per_cycle = 132 * 4096
    assert rates.of_tensor_rate([rate], [1830.0], per_cycle)[0] == pytest.approx(100, abs=0.01)
    assert rates.of_tensor_rate([rate, rate], [math.nan, 915.0], per_cycle) == pytest.approx(
        [200], abs=0.02
    )
