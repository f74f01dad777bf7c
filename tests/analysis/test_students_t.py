"""Student's t against published tables, and Welch's interval against worked examples."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.students_t import Difference, difference, point

# Two-sided points as in NIST/SEMATECH's handbook (1.3.6.7.2) and in scipy.stats.t.ppf.
TABLE = {
    0.95: {1: 12.7062, 2: 4.30265, 4: 2.77645, 10: 2.22814, 30: 2.04227, 1_000_000: 1.95997},
    0.99: {1: 63.6567, 2: 9.92484, 4: 4.60409, 10: 3.16927, 30: 2.75000, 1_000_000: 2.57584},
    0.999: {1: 636.619, 2: 31.5991, 4: 8.61030, 10: 4.58689, 30: 3.64596, 1_000_000: 3.29054},
}
POINTS = [(level, freedom, t) for level, row in TABLE.items() for freedom, t in row.items()]


@pytest.mark.parametrize(("level", "freedom", "t"), POINTS)
def test_points_are_those_of_the_tables(level: float, freedom: int, t: float) -> None:
    assert point(level, freedom) == pytest.approx(t, rel=1e-5)


@given(st.floats(0.5, 0.99999))
def test_one_and_two_degrees_of_freedom_have_closed_forms(level: float) -> None:
    assert point(level, 1) == pytest.approx(math.tan(math.pi * level / 2), rel=1e-6)
    two = level * math.sqrt(2 / (1 - level**2))
    assert point(level, 2) == pytest.approx(two, rel=1e-6)


@settings(max_examples=40)
@given(st.floats(0.5, 0.9999), st.floats(1e-4, 0.4), st.floats(0.6, 1e5), st.floats(0.1, 1e4))
def test_a_point_grows_with_the_level_and_falls_with_the_degrees_of_freedom(
    level: float, more: float, freedom: float, further: float
) -> None:
    higher = level + more * (1 - level)
    assert point(higher, freedom) > point(level, freedom)
    assert point(level, freedom + further) <= point(level, freedom) * (1 + 1e-9)


@settings(max_examples=40)
@given(st.floats(0.5, 0.9999), st.floats(1, 1e6))
def test_a_point_is_beyond_the_normal_one(level: float, freedom: float) -> None:
    from statistics import NormalDist

    assert point(level, freedom) >= NormalDist().inv_cdf((1 + level) / 2) * (1 - 1e-6)


def test_welch_by_hand() -> None:
    # Means 3 and 8; variances 10 / 4 = 2.5 and 40 / 4 = 10, over 5 values each: 0.5 and 2.
    # Standard error sqrt(2.5); freedom 2.5² / (0.5² / 4 + 2² / 4) = 6.25 / 1.0625 = 5.88235.
    a, b = [1.0, 2.0, 3.0, 4.0, 5.0], [4.0, 6.0, 8.0, 10.0, 12.0]
    interval = difference(a, b, 0.95)
    assert interval.value == 5
    # t of 0.975 lies between the table's 2.571 for 5 degrees of freedom and 2.447 for 6.
    assert 2.447 * math.sqrt(2.5) < interval.high - interval.value < 2.571 * math.sqrt(2.5)
    assert interval.high - interval.value == pytest.approx(
        point(0.95, 6.25 / 1.0625) * math.sqrt(2.5)
    )
    assert interval.value - interval.low == pytest.approx(interval.high - interval.value)


def test_welch_with_equal_sides_is_the_plain_t_interval() -> None:
    # Equal variances and sizes: freedom 2 (n - 1) = 4, where the table has 2.77645.
    interval = difference([1.0, 2.0, 3.0], [11.0, 12.0, 13.0], 0.95)
    assert interval.high - interval.value == pytest.approx(2.77645 * math.sqrt(2 / 3), rel=1e-5)


values = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8)


@given(values, values)
def test_the_other_way_round_is_the_same_with_the_other_sign(
    a: list[float], b: list[float]
) -> None:
    forward, back = difference(a, b, 0.99), difference(b, a, 0.99)
    assert forward.low <= forward.value <= forward.high
    assert (forward.value, forward.low, forward.high) == pytest.approx(
        (-back.value, -back.high, -back.low)
    )


def test_what_does_not_vary_has_no_width() -> None:
    assert difference([2.0, 2.0], [5.0, 5.0, 5.0], 0.99) == Difference(3, 3, 3)


@pytest.mark.parametrize(
    ("low", "high", "bound", "clear"),
    [
        *[(1, 3, 0, True), (-1, 3, 0, False), (-3, -1, 0, True), (0, 3, 0, False)],
        *[(1, 3, 2, False), (2.5, 3, 2, True), (-3, -2.5, 2, True), (-3, -2, 2, False)],
    ],
)
def test_clear_of_a_bound_is_the_whole_interval_beyond_it(
    low: float, high: float, bound: float, clear: bool
) -> None:
    assert Difference((low + high) / 2, low, high).clear_of(bound) is clear


def test_so_many_times_as_much() -> None:
    assert Difference(2, 1, 4).times(10) == Difference(20, 10, 40)
