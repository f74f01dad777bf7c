"""Intervals on simulated data whose truth is known."""

import math
import random
from collections.abc import Callable
from statistics import median

import pytest

from harness.analysis.measured import Measured
from harness.analysis.statistics import Interval, Rounds, estimate, ratio, unpaired_ratio
from harness.analysis.verdict import verdict as verdict_of
from harness.problem.model import Bound

SAMPLES, TRIALS = 15, 1000
Process = Callable[[random.Random, int], list[float]]
"""Gives the samples of one process, by its place in time (0, 1, …), around a true value of 1."""


def noise(draw: random.Random, _place: int) -> list[float]:
    """Samples vary by 1 %, processes by 0.3 %."""
    luck = draw.gauss(0, 0.003)
    return [math.exp(luck + draw.gauss(0, 0.01)) for _ in range(SAMPLES)]


def drift(draw: random.Random, place: int) -> list[float]:
    """The same on a machine that slows by 3 % over ten rounds."""
    slower = 0.03 * place / 19
    return [value * math.exp(slower) for value in noise(draw, place)]


def bimodal(draw: random.Random, place: int) -> list[float]:
    """The same where three processes in ten are 5 % slower from start to end."""
    slower = 0.05 * (draw.random() < 0.3)
    return [value * math.exp(slower) for value in noise(draw, place)]


def autocorrelated(draw: random.Random, _place: int) -> list[float]:
    """Samples of a process follow each other: a first-order process of 2 %, correlation 0.9."""
    state, samples = draw.gauss(0, 0.02), []
    for _ in range(SAMPLES):
        state = 0.9 * state + draw.gauss(0, 0.02 * math.sqrt(1 - 0.9**2))
        samples.append(math.exp(state))
    return samples


def unsteady(draw: random.Random, _place: int) -> list[float]:
    """Samples vary by 5 %, processes by 3 %, as times of the host do."""
    luck = draw.gauss(0, 0.03)
    return [math.exp(luck + draw.gauss(0, 0.05)) for _ in range(SAMPLES)]


PROCESSES = (noise, drift, bimodal, autocorrelated, unsteady)


def interleaved(
    draw: random.Random, process: Process, factor: float, rounds: int = 10
) -> tuple[Rounds, Rounds]:
    """Two variants in rounds A B, B A, …, the first ``factor`` times as slow."""
    first: dict[int, list[float]] = {}
    second: dict[int, list[float]] = {}
    for number in range(rounds):
        early, late = process(draw, 2 * number), process(draw, 2 * number + 1)
        first_samples, second_samples = (early, late) if number % 2 == 0 else (late, early)
        first[number], second[number] = [factor * value for value in first_samples], second_samples
    return first, second


def different(interval: Interval) -> bool:
    """Whether the verdict rule calls two variants different: not the same, either way."""
    measured = Measured(
        "×",
        interval.value,
        interval.low,
        interval.high,
        rounds=interval.rounds,
        samples=10 * SAMPLES,
        ci99=interval.ci99,
    )
    rules = (Bound(above=1), Bound(below=1))
    return any(verdict_of(measured, bound) == "refuted" for bound in rules)


@pytest.mark.slow
@pytest.mark.parametrize("process", PROCESSES)
def test_intervals_cover_the_truth_and_the_same_thing_twice_is_not_called_different(
    process: Process,
) -> None:
    draw = random.Random(7)
    intervals = [ratio(*interleaved(draw, process, 1.0)) for _ in range(TRIALS)]
    covered = sum(interval.low <= 1 <= interval.high for interval in intervals) / TRIALS
    assert 0.93 <= covered <= 0.975
    assert sum(map(different, intervals)) <= 0.01 * TRIALS


@pytest.mark.slow
@pytest.mark.parametrize("process", PROCESSES)
def test_with_five_rounds_intervals_cover_at_least_as_often_as_they_say(process: Process) -> None:
    draw = random.Random(9)
    intervals = [ratio(*interleaved(draw, process, 1.0, rounds=5)) for _ in range(TRIALS)]
    assert sum(interval.low <= 1 <= interval.high for interval in intervals) >= 0.93 * TRIALS
    assert (
        sum(interval.ci99[0] <= 1 <= interval.ci99[1] for interval in intervals) >= 0.985 * TRIALS
    )
    assert sum(map(different, intervals)) <= 0.01 * TRIALS


def test_a_difference_of_two_percent_is_found() -> None:
    draw = random.Random(13)
    intervals = [ratio(*interleaved(draw, noise, 1.02)) for _ in range(400)]
    assert sum(map(different, intervals)) >= 0.95 * 400
    assert all(interval.low <= 1.05 for interval in intervals)


def test_the_centre_is_the_geometric_mean_of_the_rounds_medians() -> None:
    assert estimate({0: [1.0, 2.0, 30.0], 4: [8.0, 8.0, 8.0]}).value == pytest.approx(4)
    assert estimate({0: [-1.0, 2.0, 30.0], 4: [0.0, 0.0, 0.0]}).value == 1
    exact = estimate({0: [3.0], 1: [3.0], 2: [3.0]})
    assert (exact.low, exact.value, exact.high) == (3, 3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("process", [noise, autocorrelated, unsteady])
def test_intervals_of_a_value_cover_the_truth_and_are_positive(process: Process) -> None:
    draw = random.Random(11)
    intervals = [estimate({n: process(draw, n) for n in range(5)}) for _ in range(TRIALS)]
    assert (
        0.93 <= sum(interval.low <= 1 <= interval.high for interval in intervals) / TRIALS <= 0.97
    )
    wild = estimate({0: [17.0], 1: [171.0], 2: [320.0]})
    assert 0 < wild.ci99[0] < wild.low < wild.value < wild.high


def test_pairing_by_round_takes_out_what_a_round_has_in_common() -> None:
    draw = random.Random(2)
    luck = [draw.gauss(0, 0.1) for _ in range(8)]
    slow = {number: [2.0 * (1 + factor)] * 3 for number, factor in enumerate(luck)}
    fast = {number: [1.0 * (1 + factor)] * 3 for number, factor in enumerate(luck)}
    interval = ratio(slow, fast)
    assert interval.value == pytest.approx(2)
    assert interval.high - interval.low < 1e-9


def test_only_rounds_that_both_sides_have_are_compared() -> None:
    of = {0: [2.0], 1: [2.2], 2: [50.0]}
    over = {0: [1.0], 1: [1.0], 3: [0.1]}
    interval = ratio(of, over)
    assert interval.rounds == 2
    assert interval.value == pytest.approx(math.sqrt(4.4))
    assert ratio({0: [3.0, 3.0]}, {1: [1.0, 1.0]}).value == 3.0


@pytest.mark.parametrize(
    ("count", "t", "sure"), [(2, 12.706, 63.657), (3, 4.303, 9.925), (5, 2.776, 4.604)]
)
def test_few_rounds_get_students_intervals(count: int, t: float, sure: float) -> None:
    values = [1.0, 1.2, 1.1, 1.3, 1.15][:count]
    mean = sum(values) / count
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)
    interval = estimate({number: [math.exp(value)] for number, value in enumerate(values)})
    assert math.log(interval.value) == pytest.approx(mean)
    assert math.log(interval.high / interval.value) == pytest.approx(t * error)
    assert math.log(interval.value / interval.low) == pytest.approx(t * error)
    ends = [math.log(value) for value in interval.ci99]
    assert ends == pytest.approx([mean - sure * error, mean + sure * error])


def test_the_same_samples_give_the_same_interval() -> None:
    rounds = {number: [1.0 + 0.1 * number, 1.1, 1.3] for number in range(6)}
    assert estimate(rounds) == estimate(rounds)


def test_one_round_is_resampled_within() -> None:
    draw = random.Random(4)
    samples = [draw.gauss(5, 0.1) for _ in range(40)]
    interval = estimate({0: samples})
    assert interval.rounds == 1
    assert interval.low < median(samples) == interval.value < interval.high


@pytest.mark.parametrize(
    "rounds", [{0: [3.0]}, {0: [3.0], 1: [3.0]}, {key: [3.0] for key in range(9)}]
)
def test_what_does_not_vary_has_no_width(rounds: Rounds) -> None:
    interval = estimate(rounds)
    assert (interval.value, interval.low, interval.high) == (3, 3, 3)


def test_a_ratio_of_what_is_not_positive_is_refused() -> None:
    with pytest.raises(ValueError, match="not positive"):
        ratio({0: [1.0], 1: [1.0]}, {0: [1.0], 1: [0.0]})
    with pytest.raises(ValueError, match="not positive"):
        ratio({0: [0.0], 1: [1.0]}, {0: [1.0], 1: [1.0]})
    with pytest.raises(ValueError, match="not positive"):
        ratio({0: [-1.0]}, {0: [1.0]})


def test_none_of_a_count_is_no_share_of_another() -> None:
    interval = ratio({0: [0.0]}, {0: [5.0]})
    assert (interval.low, interval.value, interval.high, interval.ci99) == (0, 0, 0, (0, 0))


def apart(draw: random.Random, factor: float, rounds: int) -> tuple[Rounds, Rounds]:
    """Two runs of ``rounds`` processes each, the first ``factor`` times as slow."""
    sides = ([noise(draw, number) for number in range(rounds)] for _ in range(2))
    first, second = (dict(enumerate(side)) for side in sides)
    return {key: [factor * value for value in values] for key, values in first.items()}, second


@pytest.mark.slow
def test_unpaired_intervals_cover_the_truth_and_the_same_thing_twice_is_not_called_different() -> (
    None
):
    draw = random.Random(17)
    intervals = [unpaired_ratio(*apart(draw, 1.0, 5)) for _ in range(TRIALS)]
    assert (
        0.93 <= sum(interval.low <= 1 <= interval.high for interval in intervals) / TRIALS <= 0.97
    )
    assert (
        0.98
        <= sum(interval.ci99[0] <= 1 <= interval.ci99[1] for interval in intervals) / TRIALS
        <= 0.999
    )
    assert sum(map(different, intervals)) <= 0.015 * TRIALS


def test_an_unpaired_difference_of_three_percent_is_found() -> None:
    draw = random.Random(19)
    intervals = [unpaired_ratio(*apart(draw, 1.03, 5)) for _ in range(200)]
    assert sum(map(different, intervals)) >= 0.95 * 200


def test_unpaired_ends_are_welchs_by_hand() -> None:
    # Logarithms of 1, 2, 3 and of 2, 5, 8: variance 1 and 9 over 3 rounds, standard error
    # sqrt(10 / 3), freedom (1 / 3 + 3)² / ((1 / 3)² / 2 + 3² / 2) = 200 / 82 = 2.43902.
    over = {key: [math.exp(logarithm)] * 3 for key, logarithm in enumerate((1.0, 2.0, 3.0))}
    of = {key: [math.exp(logarithm)] for key, logarithm in enumerate((2.0, 5.0, 8.0))}
    interval = unpaired_ratio(of, over)
    assert interval.rounds == 3
    assert interval.value == pytest.approx(math.exp(3))
    # t of 2.43902 degrees of freedom lies between the tables' 4.303 for 2 and 3.182 for 3.
    reach = (math.log(interval.high) - 3) / math.sqrt(10 / 3)
    assert 3.182 < reach < 4.303
    assert math.log(interval.low) == pytest.approx(3 - reach * math.sqrt(10 / 3))
    assert interval.ci99[0] < interval.low < interval.high < interval.ci99[1]


def test_unpaired_rounds_of_one_number_share_no_luck() -> None:
    luck = [1.0, 1.3, 0.8, 1.1]
    sides = {number: [value] for number, value in enumerate(luck)}
    assert ratio(sides, sides).high == 1
    assert unpaired_ratio(sides, sides).high > 1.2
    shuffled = {number: [value] for number, value in enumerate(reversed(luck))}
    ends = [
        (interval.low, interval.high)
        for interval in (unpaired_ratio(of, sides) for of in (sides, shuffled))
    ]
    assert ends[0] == pytest.approx(ends[1])


def test_an_unpaired_ratio_the_other_way_round_is_the_inverse() -> None:
    of, over = apart(random.Random(3), 1.4, 4)
    forward, back = unpaired_ratio(of, over), unpaired_ratio(over, of)
    assert (back.value, back.low, back.high) == pytest.approx(
        (1 / forward.value, 1 / forward.high, 1 / forward.low)
    )


@pytest.mark.parametrize("rounds", [(1, 1), (1, 5), (5, 1)])
def test_one_process_on_a_side_is_resampled_within(rounds: tuple[int, int]) -> None:
    draw = random.Random(8)
    of, over = (
        {number: [draw.gauss(5, 0.1) for _ in range(20)] for number in range(count)}
        for count in rounds
    )
    interval = unpaired_ratio(of, over)
    assert interval.rounds == 1
    assert interval.ci99[0] <= interval.low < interval.value < interval.high <= interval.ci99[1]
    assert interval.high - interval.low < 0.05


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_an_unpaired_ratio_of_what_is_not_positive_is_refused(bad: float) -> None:
    for pair in (({0: [1.0], 1: [bad]}, {0: [1.0]}), ({0: [1.0]}, {0: [1.0, bad]})):
        with pytest.raises(ValueError, match="not positive"):
            unpaired_ratio(*pair)
