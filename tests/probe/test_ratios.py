"""Ratios are taken turn by turn, so that what slows a turn down falls out of them."""

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.probe import ratios

BASELINES = ("torch", "cublaslt")

TIMES = {
    "torch": [100.0, 200.0, 100.0],
    "cublaslt": [80.0, 160.0, 400.0],  # the better one by its median, not in every turn
    "p0": [1000.0, 2000.0, 1000.0],
    "p2": [500.0, 1000.0, 500.0],
    "best": [80.0, 160.0, 80.0],
}


def test_the_better_baseline_is_the_one_with_the_lower_median() -> None:
    times = {"torch": [100.0, 100.0, 300.0], "cublaslt": [99.0, 120.0, 110.0], "p0": [1.0] * 3}
    assert ratios.better(times, BASELINES) == "torch"
    assert ratios.better({"torch": [1.0], "p0": [0.5]}, BASELINES) == "torch"


def test_each_turn_is_held_against_itself() -> None:
    found = ratios.of_baselines(TIMES, "best", BASELINES)
    assert found["of_torch"] == [125, 125, 125]
    assert found["of_cublaslt"] == [100, 100, 500]
    assert found["of_better"] == found["of_torch"]
    alone = {name: TIMES[name] for name in ("torch", "best")}
    assert set(ratios.of_baselines(alone, "best", BASELINES)) == {"of_torch", "of_better"}


def test_a_step_is_held_against_the_first_and_the_one_before_that_ran() -> None:
    found = ratios.climbed(TIMES, ["p0", "p1", "p2"])
    assert found == {
        "p0": {"speedup": [1, 1, 1]},
        "p2": {"speedup": [2, 2, 2], "gain": [2, 2, 2]},
    }
    assert ratios.climbed({"torch": [1.0]}, ["p0", "p1"]) == {}


def test_a_geometric_mean_is_of_one_turn_over_all_shapes() -> None:
    assert ratios.geometric_means([[50.0, 100.0], [200.0, 100.0]]) == pytest.approx([100, 100])
    with pytest.raises(ValueError, match="shorter"):
        ratios.geometric_means([[1.0, 2.0], [1.0]])


@given(st.lists(st.floats(0.5, 2), min_size=3, max_size=30), st.floats(0.8, 1.25))
def test_a_clock_that_drifts_changes_no_ratio(slow: list[float], factor: float) -> None:
    theirs, ours = [100 * delay for delay in slow], [100 * delay / factor for delay in slow]
    assert ratios.percent(theirs, ours) == pytest.approx([100 * factor] * len(slow))
    assert median(ratios.over(ours, theirs)) == pytest.approx(1 / factor)
