"""The rule by which an interval decides, at its edges."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.measured import Measured
from harness.analysis.verdict import THRESHOLD, cleared, decide, judged_ends, verdict
from harness.problem.model import Bound

BELOW, ABOVE = (-math.inf, 1.0), (1.0, math.inf)


@pytest.mark.parametrize(
    ("shown", "sure", "bound", "expected"),
    [
        ((1.2, 1.3), (1.1, 1.4), ABOVE, "inside"),
        ((1.2, 1.3), (1.1, 1.4), BELOW, "outside"),
        ((0.7, 0.8), (0.6, 0.9), ABOVE, "outside"),
        ((0.7, 0.8), (0.6, 0.9), BELOW, "inside"),
        ((0.9, 1.1), (0.8, 1.2), ABOVE, "undecided"),
        # the 95 % interval is clear, the 99 % one is not
        ((1.2, 1.3), (0.99, 1.5), ABOVE, "undecided"),
        # the 99 % interval has to be clear, but not by a hundredth
        ((1.02, 1.3), (1.001, 1.5), ABOVE, "inside"),
        # clear, by less than a hundredth
        ((1.002, 1.008), (1.001, 1.009), ABOVE, "undecided"),
        ((0.992, 0.998), (0.991, 0.999), ABOVE, "undecided"),
        # two bounds
        ((2.2, 2.8), (2.1, 2.9), (2.0, 3.0), "inside"),
        ((2.2, 3.2), (2.1, 3.3), (2.0, 3.0), "undecided"),
        ((3.2, 3.3), (3.1, 3.4), (2.0, 3.0), "outside"),
        ((1.2, 1.3), (1.1, 1.4), (2.0, 3.0), "outside"),
        # around zero and below
        ((-1.3, -1.2), (-1.4, -1.1), (-math.inf, 0.0), "inside"),
        ((-1.3, -1.2), (-1.4, -1.1), (-1.0, 1.0), "outside"),
    ],
)
def test_sampled_values(
    shown: tuple[float, float],
    sure: tuple[float, float],
    bound: tuple[float, float],
    expected: str,
) -> None:
    assert decide(shown, sure, bound) == expected


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
    assert decide((value, value), (value, value), bound, sampled=False) == expected


@given(st.floats(0.01, 100), st.floats(0, 0.5), st.floats(0, 0.5))
def test_sides_of_one_bound_exclude_each_other(value: float, width: float, more: float) -> None:
    shown = (value * (1 - width), value * (1 + width))
    sure = (shown[0] * (1 - more), shown[1] * (1 + more))
    above, below = decide(shown, sure, ABOVE), decide(shown, sure, BELOW)
    expected = {"inside": "outside", "outside": "inside", "undecided": "undecided"}
    # An interval that ends exactly a hundredth beyond the bound is inside of one side only.
    edge = any(math.isclose(abs(end - 1), THRESHOLD * max(end, 1)) for end in shown)
    assert edge or below == expected[above]
    if above == "inside":
        assert shown[0] > 1
    if above == "outside":
        assert shown[1] < 1


@pytest.mark.parametrize("bound", [(2.0, 3.0), (-3.0, -2.0), (-2.0, 2.0), (0.5, math.inf)])
def test_an_interval_within_the_cleared_limits_is_inside_and_no_other(
    bound: tuple[float, float],
) -> None:
    least, most = cleared(bound)
    most = 1e3 if math.isinf(most) else most
    assert decide((least, most), (least, most), bound) == "inside"
    beyond = [(least - 1e-6, most), (least, most + 1e-6)]
    finite = beyond[: 1 if math.isinf(bound[1]) else 2]
    assert {decide(ends, ends, bound) for ends in finite} == {"undecided"}


def test_a_limit_of_zero_is_cleared_by_zero() -> None:
    assert cleared((0.0, 0.0)) == (0.0, 0.0)
    assert cleared((-math.inf, math.inf)) == (-math.inf, math.inf)


SAMPLED = Measured("ms", value=2.1, low=2.0, high=2.2, rounds=3, samples=30)


def measured(**changed: object) -> Measured:
    return Measured(**(vars(SAMPLED) | changed))


@pytest.mark.parametrize(
    ("changed", "bound", "expected"),
    [
        ({}, {"above": 1.9}, "reproduced"),
        ({"value": None}, {"above": 1.9}, "not measured"),
        ({"low": None}, {"above": 1.9}, "not measured"),
        ({"high": None}, {"above": 1.9}, "not measured"),
        # clocks that differ by a tenth decide only what holds at any of them
        ({"clock_factor": 1.1}, {"above": 1.9}, "inconclusive"),
        ({"clock_factor": 1.1}, {"above": 1.7}, "reproduced"),
        ({"clock_factor": 1.1}, {"below": 1.7}, "refuted"),
        ({"clock_factor": math.inf}, {"above": 1.0}, "inconclusive"),
        ({"ci99": (1.85, 2.35)}, {"above": 1.9}, "inconclusive"),
        # a fact of several processes that are of one mind is not sampled
        ({"value": 8, "low": 8, "high": 8, "samples": 3}, {"between": (8, 8)}, "reproduced"),
        ({"value": 8, "low": 8, "high": 8, "samples": 4}, {"between": (8, 8)}, "inconclusive"),
        ({"samples": 3}, {"above": 1.99}, "inconclusive"),
        ({"value": 0, "low": 0, "high": 0, "samples": 3}, {"between": (0, 1)}, "reproduced"),
    ],
)
def test_verdicts(changed: dict[str, object], bound: dict[str, float], expected: str) -> None:
    assert verdict(measured(**changed), Bound.model_validate(bound)) == expected


def test_ends_are_widened_to_both_sides_whatever_their_sign() -> None:
    above = measured(low=2.0, high=4.0, ci99=(1.0, 8.0), clock_factor=2.0)
    assert judged_ends(above) == ((1.0, 8.0), (0.5, 16.0))
    below = measured(low=-4.0, high=-2.0, clock_factor=2.0)
    assert judged_ends(below) == ((-8.0, -1.0), (-8.0, -1.0))
    assert judged_ends(measured(low=0.0, high=0.0)) == ((0.0, 0.0), (0.0, 0.0))


@pytest.mark.parametrize("bound", [(3.0, math.inf), (-math.inf, 2.0)])
def test_what_is_counted_is_outside_by_more_than_rounding_alone(
    bound: tuple[float, float],
) -> None:
    value = bound[0] if math.isinf(bound[1]) else bound[1]
    for share, expected in ((1e-12, "inside"), (1e-6, "outside")):
        near = value * (1 - share if value == bound[0] else 1 + share)
        assert decide((near, near), (near, near), bound, sampled=False) == expected


@pytest.mark.parametrize("bound", [(-math.inf, 1.0), (1.0, math.inf)])
def test_an_infinite_value_decides_where_there_is_a_limit(bound: tuple[float, float]) -> None:
    value = -bound[0] if math.isinf(bound[0]) else -bound[1]
    assert decide((value, value), (value, value), bound) == "outside"
