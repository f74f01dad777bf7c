"""Intervals on simulated data whose truth is known."""

import random

import pytest

from harness.analysis.statistics import centre, estimate, ratio


def simulated(
    draw: random.Random, rounds: int, samples: int, truth: float, between: float, within: float
) -> list[list[float]]:
    """Rounds that differ among each other by ``between``, samples inside one by ``within``."""
    made = []
    for _ in range(rounds):
        luck = draw.gauss(0, between)
        made.append([truth * (1 + luck + draw.gauss(0, within)) for _ in range(samples)])
    return made


def test_the_centre_is_the_mean_of_the_rounds_medians() -> None:
    assert centre([[1.0, 2.0, 30.0], [4.0, 4.0, 4.0]]) == 3.0


def test_intervals_cover_the_truth_when_processes_differ() -> None:
    draw = random.Random(1)
    trials, hits = 60, 0
    for _ in range(trials):
        found = estimate(simulated(draw, rounds=10, samples=8, truth=5, between=0.02, within=0.01))
        hits += found.low <= 5 <= found.high
    # The percentile bootstrap over ten rounds covers a little less than its nominal 95 %.
    assert hits >= 0.85 * trials


def test_pairing_by_round_takes_out_what_a_round_has_in_common() -> None:
    draw = random.Random(2)
    luck = [draw.gauss(0, 0.1) for _ in range(8)]
    slow = [[2.0 * (1 + one)] * 3 for one in luck]
    fast = [[1.0 * (1 + one)] * 3 for one in luck]
    found = ratio(slow, fast)
    assert found.value == pytest.approx(2)
    assert found.high - found.low < 1e-9


def test_a_real_difference_is_found_and_none_is_not() -> None:
    draw = random.Random(3)
    base = simulated(draw, 10, 10, truth=1.0, between=0.005, within=0.01)
    other = simulated(draw, 10, 10, truth=1.05, between=0.005, within=0.01)
    assert ratio(other, base).low > 1
    assert ratio(base, base).low <= 1 <= ratio(base, base).high


def test_the_same_samples_give_the_same_interval() -> None:
    rounds = [[1.0, 1.1, 1.3], [0.9, 1.2, 1.0]]
    assert estimate(rounds) == estimate(rounds)


def test_one_sample_has_no_width() -> None:
    found = estimate([[3.0]])
    assert (found.value, found.low, found.high) == (3, 3, 3)
