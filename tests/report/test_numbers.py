"""How a measured number is printed: digits, unit, interval."""

import pytest

from harness.analysis.metrics import Measured
from harness.report.numbers import NOT_MEASURED, measured, number, size


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


def test_a_number_has_four_digits_and_no_exponent_where_people_read_it() -> None:
    texts = {0.0: "0", 8.0: "8", 70340.26: "70340", 999999.0: "999,999", 1234567.0: "1,235,000"}
    texts |= {0.9292: "0.9292", 12.3456: "12.35", -70340.26: "-70340", 0.00059190: "0.0005919"}
    texts |= {2.5e9: "2.5e+09", 1e-7: "1e-07"}
    assert {value: number(value) for value in texts} == texts


def test_a_size_is_in_the_largest_unit_and_a_change_has_its_sign() -> None:
    sizes = {0: "0 B", 999: "999 B", 1_000: "1 kB", -33_554_432: "-33.55 MB", 17 * 10**9: "17 GB"}
    assert {count: size(count) for count in sizes} == sizes
    changes = {0: "0 B", 7: "+7 B", 16_384: "+16.38 kB", -5 * 10**6: "-5 MB"}
    assert {count: size(count, signed=True) for count in changes} == changes
