"""The rule by which an interval decides, at its edges."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.measured import Measured
from harness.analysis.verdict import THRESHOLD, further_rounds, judged_ends, place, verdict
from harness.problem.model import Bound

BELOW, ABOVE = (-math.inf, 1.0), (1.0, math.inf)


@pytest.mark.parametrize(
    ("interval", "bound", "expected"),
    [
        ((1.2, 1.3), ABOVE, "inside"),
        ((1.2, 1.3), BELOW, "outside"),
        ((0.7, 0.8), ABOVE, "outside"),
        ((0.7, 0.8), BELOW, "inside"),
        ((0.9, 1.1), ABOVE, "undecided"),
        ((1.02, 1.3), ABOVE, "inside"),
        # clear of the bound, by less than a hundredth at one end
        ((1.002, 1.3), ABOVE, "undecided"),
        ((0.8, 0.998), ABOVE, "undecided"),
        # within a hundredth on both sides
        ((1.002, 1.008), ABOVE, "at the bound"),
        ((0.992, 1.008), ABOVE, "at the bound"),
        ((0.992, 0.998), BELOW, "at the bound"),
        # two bounds
        ((2.2, 2.8), (2.0, 3.0), "inside"),
        ((2.2, 3.2), (2.0, 3.0), "undecided"),
        ((2.99, 3.02), (2.0, 3.0), "at the bound"),
        ((3.2, 3.3), (2.0, 3.0), "outside"),
        ((1.2, 1.3), (2.0, 3.0), "outside"),
        # around zero and below
        ((-1.3, -1.2), (-math.inf, 0.0), "inside"),
        ((-1.3, -1.2), (-1.0, 1.0), "outside"),
        ((-0.1, 0.1), (0.0, math.inf), "undecided"),
    ],
)
def test_sampled_values(
    interval: tuple[float, float], bound: tuple[float, float], expected: str
) -> None:
    assert place(interval, bound) == expected


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (3, (3, math.inf), "inside"),
        (3, (-math.inf, 3), "inside"),
        (3, (3, 3), "inside"),
        (0.1 + 0.2, (0.3, 0.3), "inside"),  # equal but for rounding
        (2, (3, math.inf), "outside"),
        (4, (3, 3), "outside"),
        (3.001, (3, 3), "outside"),
        (0, (0, 0), "inside"),
        (0, (1, math.inf), "outside"),
    ],
)
def test_what_is_counted_meets_its_bound_exactly(
    value: float, bound: tuple[float, float], expected: str
) -> None:
    assert place((value, value), bound, sampled=False) == expected


@given(st.floats(0.01, 100), st.floats(0, 0.5))
def test_sides_of_one_bound_exclude_each_other(value: float, width: float) -> None:
    interval = (value * (1 - width), value * (1 + width))
    above, below = place(interval, ABOVE), place(interval, BELOW)
    opposite = {"inside": "outside", "outside": "inside"}
    # An interval that ends exactly a hundredth beyond the bound is inside of one side only.
    edge = any(math.isclose(abs(end - 1), THRESHOLD * max(end, 1)) for end in interval)
    assert edge or below == opposite.get(above, above)
    if above == "inside":
        assert interval[0] > 1
    if above == "outside":
        assert interval[1] < 1


SAMPLED = Measured("ms", value=2.1, low=2.0, high=2.2, rounds=3, samples=30, timed=True)


def measured(**changed: object) -> Measured:
    return Measured(**(vars(SAMPLED) | changed))


@pytest.mark.parametrize(
    ("changed", "bound", "expected"),
    [
        ({}, {"above": 1.9}, "reproduced"),
        ({"value": None}, {"above": 1.9}, "not measured"),
        ({"low": None}, {"above": 1.9}, "not measured"),
        ({"high": None}, {"above": 1.9}, "not measured"),
        # one process, or two, describe a time; a count of one process is judged
        ({"rounds": 1}, {"above": 1.9}, "described"),
        ({"rounds": 2}, {"above": 1.9}, "described"),
        ({"rounds": 1, "timed": False}, {"above": 1.9}, "reproduced"),
        ({"rounds": 1, "clock_factor": math.inf}, {"above": 1.0}, "described"),
        # clocks that differ by a tenth decide only what holds at any of them
        ({"clock_factor": 1.1}, {"above": 1.9}, "undecided"),
        ({"clock_factor": 1.1}, {"above": 1.7}, "reproduced"),
        ({"clock_factor": 1.1}, {"below": 1.7}, "refuted"),
        ({"clock_factor": math.inf}, {"above": 1.0}, "undecided"),
        ({"low": 1.85, "high": 2.35}, {"above": 1.9}, "undecided"),
        ({"low": 2.09, "high": 2.11}, {"above": 2.1}, "tie"),
        # a fact of several processes that are of one mind is not sampled
        ({"value": 8, "low": 8, "high": 8, "samples": 3}, {"between": (8, 8)}, "reproduced"),
        ({"value": 8, "low": 8, "high": 8, "samples": 4}, {"between": (8, 8)}, "tie"),
        ({"samples": 3}, {"above": 1.99}, "undecided"),
        ({"value": 0, "low": 0, "high": 0, "samples": 3}, {"between": (0, 1)}, "reproduced"),
    ],
)
def test_verdicts(changed: dict[str, object], bound: dict[str, float], expected: str) -> None:
    assert verdict(measured(**changed), Bound.model_validate(bound)) == expected


def test_ends_are_widened_to_both_sides_whatever_their_sign() -> None:
    assert judged_ends(measured(low=2.0, high=4.0, clock_factor=2.0)) == (1.0, 8.0)
    assert judged_ends(measured(low=-4.0, high=-2.0, clock_factor=2.0)) == (-8.0, -1.0)
    assert judged_ends(measured(low=0.0, high=0.0)) == (0.0, 0.0)


@pytest.mark.parametrize("bound", [(3.0, math.inf), (-math.inf, 2.0)])
def test_what_is_counted_is_outside_by_more_than_rounding_alone(
    bound: tuple[float, float],
) -> None:
    value = bound[0] if math.isinf(bound[1]) else bound[1]
    for share, expected in ((1e-12, "inside"), (1e-6, "outside")):
        near = value * (1 - share if value == bound[0] else 1 + share)
        assert place((near, near), bound, sampled=False) == expected


@pytest.mark.parametrize("bound", [(-math.inf, 1.0), (1.0, math.inf)])
def test_an_infinite_value_decides_where_there_is_a_limit(bound: tuple[float, float]) -> None:
    value = -bound[0] if math.isinf(bound[0]) else -bound[1]
    assert place((value, value), bound) == "outside"


def test_rounds_that_would_decide_narrow_the_interval_as_student_says() -> None:
    # Three processes of 1.1 times, ±13 %: the bound of 1 is 8.6 % away and has to be cleared by 1.
    # Student's points over the roots: 5.73 for 3 rounds, 2.92 for 4, 2.06 for 5.
    three = measured(value=1.1, low=1.1 / 1.13, high=1.1 * 1.13)
    assert further_rounds(three, Bound(above=1.0)) == 1
    wider = measured(value=1.1, low=1.1 / 1.2, high=1.1 * 1.2)
    assert further_rounds(wider, Bound(above=1.0)) == 2
    # A value in the middle of the margin comes to a tie; one at the margin's edge never decides.
    assert further_rounds(measured(value=1.0, low=0.95, high=1.05), Bound(above=1.0)) == 6
    at_edge = measured(value=1.0101, low=0.95, high=1.07)
    assert further_rounds(at_edge, Bound(above=1.0)) is None
    assert further_rounds(measured(rounds=1), Bound(above=2.1)) is None
    below_zero = measured(value=0.1, low=-0.2, high=0.4)
    assert further_rounds(below_zero, Bound(above=0.0)) == 3
