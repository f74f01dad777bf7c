"""The rule by which an interval decides, at its edges."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.verdict import THRESHOLD, decide

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
