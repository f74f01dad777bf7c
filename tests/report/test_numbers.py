"""How a measured number is printed: digits, unit, interval."""

import pytest

from harness.analysis.metrics import Measured
from harness.report.numbers import NOT_MEASURED, measured


def printed(unit: str, value: float, low: float, high: float, samples: int = 5) -> str:
    return measured(Measured(unit, value, low, high, rounds=5, samples=samples))


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("B", 16_384.0, "16.38 kB"),
        ("B", 17e9, "17 GB"),
        ("B", 12.0, "12 B"),
        ("ms", 0.1113, "111.3 µs"),
        ("ms", 1.489, "1.489 ms"),
        ("ms", 0.0, "0 ms"),
        ("Hz", 1.5849e9, "1585 MHz"),
        ("×", 1.0286, "1.029×"),
        ("%", 99.9243, "99.92%"),
        ("inst", 33_554_432.0, "33,550,000 inst"),
    ],
)
def test_a_number_is_in_the_unit_it_is_read_in(unit: str, value: float, text: str) -> None:
    assert printed(unit, value, value, value) == text


def test_the_interval_is_in_the_unit_of_the_value() -> None:
    assert printed("ms", 0.9, 0.8, 1.2) == "900 µs [800, 1200]"
    assert printed("Hz", 1.6e9, 1.5e9, 1.7e9) == "1600 MHz [1500, 1700]"


def test_what_was_sampled_once_has_no_interval() -> None:
    assert printed("ms", 2.0, 1.5, 2.5, samples=1) == "2 ms"


def test_what_was_not_measured_is_said_so() -> None:
    assert measured(Measured("ms", why="not run")) == NOT_MEASURED
