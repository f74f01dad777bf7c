"""How a measured number is printed: digits, unit, interval."""

import math

import pytest

from harness.analysis.measured import Measured
from harness.report.columns import NOT_MEASURED
from harness.report.numbers import (
    between,
    bounds,
    deciding,
    in_cell,
    in_full,
    measured,
    number,
    size,
)


def printed(unit: str, value: float, low: float, high: float, samples: int = 5) -> str:
    return measured(Measured(unit, value, low, high, rounds=5, samples=samples))


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("B", 16_384.0, "16.4 kB"),
        ("B", 17e9, "17 GB"),
        ("B", 12.0, "12 B"),
        ("ms", 0.1113, "111 µs"),
        ("ms", 1.489, "1.49 ms"),
        ("ms", 0.0, "0 ms"),
        ("B/s", 4.2571e12, "4257 GB/s"),
        ("Hz", 1.5849e9, "1585 MHz"),
        ("×", 1.0286, "1.03×"),
        ("%", 99.9243, "99.9%"),
        ("inst", 33_554_432.0, "33,600,000 inst"),
    ],
)
def test_a_number_is_in_the_unit_it_is_read_in(unit: str, value: float, text: str) -> None:
    assert printed(unit, value, value, value) == text


def test_both_ends_of_a_range_are_in_the_unit_they_are_read_in() -> None:
    assert between(0.333, 1.64, "ms") == "333 µs to 1.64 ms"
    assert between(0.333, 0.358, "ms") == "333 to 358 µs"
    assert between(0.99789, 1.00151, "×") == "0.9979 to 1.002×"
    assert between(1.0, 1.0, "×") == "1 to 1×"
    assert between(0.98, 0.9999, "×") == "0.98 to 1×"


def test_the_interval_is_in_the_unit_of_the_value() -> None:
    assert printed("ms", 0.9, 0.8, 1.2) == "900 µs [800, 1200]"
    assert printed("Hz", 1.6e9, 1.5e9, 1.7e9) == "1600 ± 100 MHz"


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (108.7, 108.1, 109.3, "108.7 ± 0.6 µs"),
        (108.7, 105.7, 111.8, "109 ± 3 µs"),
        (108.7, 78.0, 139.0, "110 ± 30 µs"),
        (108.7, 108.695, 108.705, "108.7 µs"),
        (5.5, 5.4, 5.8, "5.5 µs [5.4, 5.8]"),
        (1.2345, 1.2343, 1.2347, "1.234 µs"),
    ],
)
def test_digits_are_those_that_the_interval_bears_out(
    value: float, low: float, high: float, text: str
) -> None:
    assert printed("µs", value, low, high) == text


def test_a_ratio_has_brackets_in_a_sentence_and_none_in_a_cell() -> None:
    ratio = Measured("×", 2.1, 2.0, 2.2, rounds=5, samples=5)
    assert (measured(ratio), in_cell(ratio)) == ("2.1× [2.0, 2.2]", "2.1 ± 0.1×")
    skewed = Measured("×", 2.1, 2.0, 2.6, rounds=5, samples=5)
    assert in_cell(skewed) == measured(skewed) == "2.1× [2.0, 2.6]"
    assert measured(ratio, interval=False) == "2.1×"


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("problems", "1 problem"),
        ("launches", "1 launch"),
        ("caches", "1 cache"),
        ("passes", "1 pass"),
        ("pairs of sweeps", "1 pair of sweeps"),
        ("tok/s", "1 tok/s"),
        ("samples/s", "1 sample/s"),
        ("ms", "1 ms"),
        ("inst", "1 inst"),
    ],
)
def test_a_single_thing_is_in_the_singular(unit: str, text: str) -> None:
    assert printed(unit, 1.0, 1.0, 1.0) == bounds(1.0, 1.0, unit) == text
    assert printed(unit, 2.0, 2.0, 2.0) == f"2 {unit}"


@pytest.mark.parametrize(
    ("least", "most", "unit", "text"),
    [
        (1.05, math.inf, "×", "≥ 1.05×"),
        (-math.inf, 0.5, "ms", "≤ 500 µs"),
        (24.7e9, 27.3e9, "B", "24.7 to 27.3 GB"),
        (101.01, math.inf, "%", "≥ 101%"),
        (8, 8, "kernels", "8 kernels"),
        (0, 0, "", "0"),
    ],
)
def test_a_bound_is_in_the_unit_of_the_values(
    least: float, most: float, unit: str, text: str
) -> None:
    assert bounds(least, most, unit) == text


def test_in_full_the_ends_have_four_digits() -> None:
    close = Measured("%", 101.27, 100.2, 102.4, rounds=5, samples=5)
    assert (in_cell(close), in_full(close)) == ("101 ± 1%", "101.3% [100.2, 102.4]")


def test_what_decides_is_the_interval_also_where_it_is_wide() -> None:
    wide = Measured("×", 1.909, 0.9374, 3.887, rounds=5, samples=5, spread=(1.42, 2.89))
    assert measured(wide) == "1.91× (1.42 to 2.89)"
    assert deciding(wide) == "1.909× [0.9374, 3.887]"
    narrow = Measured("×", 2.1, 2.0, 2.2, rounds=5, samples=5)
    assert deciding(narrow) == measured(narrow)


def test_two_processes_have_their_values_and_no_interval() -> None:
    # Student's point of two is 63.7: of 1773 and 5283 its interval reaches beyond 1e18.
    two = Measured("tok/s", 3060.0, 3e-12, 3.8e18, rounds=2, samples=2, spread=(1773.0, 5283.0))
    assert in_cell(two) == in_full(two) == "3060 tok/s (1773 to 5283)"
    alike = Measured("ms", 924.1, 920.0, 928.2, rounds=2, samples=2, spread=(924.05, 924.15))
    assert in_cell(alike) == "924 ms"


@pytest.mark.parametrize(
    ("high", "text"), [(356.0, "180 ms [90, 360]"), (357.0, "178 ms (151 to 210)")]
)
def test_an_interval_of_a_factor_of_four_gives_way_to_the_processes(high: float, text: str) -> None:
    three = Measured("ms", 178.0, 89.0, high, rounds=3, samples=3, spread=(151.0, 210.0))
    assert in_cell(three) == text


def test_what_one_process_gave_once_has_no_ends() -> None:
    one = Measured("×", 2.5561, 2.5561, 2.5561, rounds=1, samples=4)
    assert in_full(one) == in_cell(one) == "2.56×"


def test_what_was_sampled_once_has_no_interval() -> None:
    assert printed("ms", 2.0, 1.5, 2.5, samples=1) == "2 ms"


def test_what_was_not_measured_is_said_so() -> None:
    assert measured(Measured("ms", why="not run")) == NOT_MEASURED


def test_a_number_has_four_digits_and_no_exponent_where_people_read_it() -> None:
    texts = {
        0.0: "0",
        8.0: "8",
        70340.26: "70300",
        999999.0: "999,999",
        1234567.0: "1,230,000",
        9999.9: "10000",
        999.7: "1000",
        1585.4: "1585",
    }
    texts |= {0.9292: "0.929", 12.3456: "12.3", -70340.26: "-70300", 0.00059190: "0.000592"}
    texts |= {2.5e9: "2.5e+09", 1e-7: "1e-07"}
    assert {value: number(value) for value in texts} == texts


def test_a_size_is_in_the_largest_unit_and_a_change_has_its_sign() -> None:
    sizes = {0: "0 B", 999: "999 B", 1_000: "1 kB", -33_554_432: "-33.6 MB", 17 * 10**9: "17 GB"}
    assert {count: size(count) for count in sizes} == sizes
    changes = {0: "0 B", 7: "+7 B", 16_384: "+16.4 kB", -5 * 10**6: "-5 MB"}
    assert {count: size(count, signed=True) for count in changes} == changes


def test_counts_of_several_processes_are_their_least_and_most() -> None:
    counts = Measured("problems", 420.6, 340.0, 500.0, rounds=3, samples=3, spread=(407.0, 431.0))
    assert measured(counts) == "407 to 431 problems"
    assert in_cell(counts) == "407 to 431 problems"
    alike = Measured("problems", 9.0, 9.0, 9.0, rounds=3, samples=3, spread=(9.0, 9.0))
    assert measured(alike) == "9 problems"
    timed = Measured("samples/s", 5.0, 4.0, 6.0, rounds=3, samples=3, timed=True, spread=(4.0, 6.0))
    assert measured(timed) == "5.0 ± 1.0 samples/s"
