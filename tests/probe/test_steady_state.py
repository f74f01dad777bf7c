"""Warm-up, half-width and outliers of simulated series whose truth is known."""

import math
import random
from statistics import mean, median

import pytest

from harness.probe import steady_state

TRIALS = 500


def noise(draw: random.Random, count: int) -> list[float]:
    return [draw.gauss(1, 0.01) for _ in range(count)]


@pytest.mark.parametrize("slow", [10, 30, 45])
def test_a_slow_start_is_left_out(slow: int) -> None:
    draw = random.Random(1)
    cuts = []
    for _ in range(TRIALS):
        values = noise(draw, 100)
        values[:slow] = [1.2 * value for value in values[:slow]]
        cuts.append(steady_state.warm_up(values))
    assert sum(cut >= slow for cut in cuts) >= 0.99 * TRIALS
    assert mean(cuts) - slow < 10


def test_a_slowly_falling_start_leaves_an_unbiased_median() -> None:
    draw = random.Random(2)
    errors, uncut = [], []
    for _ in range(TRIALS):
        values = [value + 0.3 * 0.9**at for at, value in enumerate(noise(draw, 100))]
        errors.append(median(values[steady_state.warm_up(values) :]) - 1)
        uncut.append(median(values) - 1)
    assert mean(errors) < 0.5 * mean(uncut)
    assert mean(errors) < 0.002


def test_what_is_steady_from_the_start_loses_little() -> None:
    draw = random.Random(3)
    cuts = [steady_state.warm_up(noise(draw, 200)) for _ in range(TRIALS)]
    assert mean(cuts) < 0.2 * 200
    assert max(cuts) <= 100


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 9, [2.0] * 50])
def test_too_little_and_what_does_not_vary_is_kept(values: list[float]) -> None:
    assert steady_state.warm_up(values) == 0


@pytest.mark.parametrize("count", [10, 20, 100])
def test_the_medians_interval_covers_the_truth_whatever_the_distribution(count: int) -> None:
    draw, covered = random.Random(4), 0
    truth = 1 + math.log(2)
    for _ in range(4 * TRIALS):
        values = [draw.expovariate(1) + 1 for _ in range(count)]
        low, high = steady_state.ends(values)
        covered += low <= truth <= high
        assert steady_state.half_width(values) == pytest.approx((high - low) / 2 / median(values))
    assert 0.945 * 4 * TRIALS <= covered <= 0.99 * 4 * TRIALS


def test_more_samples_make_it_narrower_and_few_have_none() -> None:
    draw = random.Random(5)
    widths = [steady_state.half_width(noise(draw, count)) for count in (20, 80, 320)]
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] == pytest.approx(1.96 * 1.2533 * 0.01 / 320**0.5, rel=0.35)
    assert steady_state.half_width([1.0] * 4) == float("inf")
    assert steady_state.half_width([]) == float("inf")


def test_what_is_far_off_is_told_and_noise_is_not() -> None:
    draw = random.Random(6)
    values = noise(draw, 1000)
    values[7] = 1.2
    assert [at for at, far in enumerate(steady_state.outliers(values)) if far] == [7]
    assert not any(steady_state.outliers([3.0] * 10))
