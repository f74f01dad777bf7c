"""Intervals on simulated data whose truth is known."""

import math
import random
import re
from pathlib import Path
from statistics import median

import pytest

from harness.analysis import statistics
from harness.analysis.statistics import Rounds, estimate, over_members, ratio, unpaired_ratio
from harness.analysis.verdict import LEAST_PROCESSES
from tests.support.simulated import PROCESSES, different, interleaved, noise, rates

TRIALS = 1000
DOCS = Path(__file__).parents[2] / "docs" / "statistics.md"
_ROW = re.compile(r"^\| (\d+) \| ([\w. %]+) \| ([\d.]+) % \| ([\d.]+) % \|$", re.MULTILINE)
PUBLISHED = {
    (int(rounds), process): (float(covered) / 100, float(different) / 100)
    for rounds, process, covered, different in _ROW.findall(DOCS.read_text(encoding="utf-8"))
}
"""What docs/statistics.md says: by rounds and process, the shares covered and called different."""


def test_the_published_tables_are_whole() -> None:
    shares = {(rounds, share) for rounds in (1, 2, 3, 5) for share in ("0.3 %", "1 %", "3 %")}
    others = {(rounds, name) for rounds in (3, 5, 10) for name in list(PROCESSES)[:5]}
    assert PUBLISHED.keys() == shares | others


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "process"), PUBLISHED)
def test_the_published_rates_are_those_of_the_shipped_code(rounds: int, process: str) -> None:
    trials = TRIALS if 1 < rounds < 10 else 200
    for said, simulated in zip(
        PUBLISHED[rounds, process], rates(process, rounds, trials, seed=23), strict=True
    ):
        # Four standard errors of the simulation, and the rounding of the table.
        error = math.sqrt(max(said * (1 - said), 1 / trials) / trials)
        assert abs(said - simulated) <= 4 * error + 0.0005


@pytest.mark.parametrize(("rounds", "process"), PUBLISHED)
def test_three_processes_or_more_keep_what_they_promise(rounds: int, process: str) -> None:
    covered, called = PUBLISHED[rounds, process]
    if rounds >= LEAST_PROCESSES:
        assert covered >= 0.975
        assert called <= 0.02  # of two kinds of process, three may all be of one
    elif rounds == 1 and process != "0.3 %":
        assert covered < 0.9  # which is why one process describes


def test_a_difference_of_ten_percent_is_found_by_five_rounds() -> None:
    draw = random.Random(13)
    intervals = [ratio(*interleaved(draw, PROCESSES["1 %"], 1.1, 5)) for _ in range(400)]
    assert sum(map(different, intervals)) >= 0.95 * 400


def test_the_centre_is_the_geometric_mean_of_the_rounds_medians() -> None:
    assert estimate({0: [1.0, 2.0, 30.0], 4: [8.0, 8.0, 8.0]}).value == pytest.approx(4)
    assert estimate({0: [-1.0, 2.0, 30.0], 4: [0.0, 0.0, 0.0]}).value == 1
    exact = estimate({0: [3.0], 1: [3.0], 2: [3.0]})
    assert (exact.low, exact.value, exact.high) == (3, 3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("process", ["noise", "autocorrelated", "unsteady"])
def test_intervals_of_a_value_cover_the_truth_and_are_positive(process: str) -> None:
    draw = random.Random(11)
    intervals = [
        estimate({n: PROCESSES[process](draw, n) for n in range(5)}) for _ in range(TRIALS)
    ]
    assert sum(interval.low <= 1 <= interval.high for interval in intervals) / TRIALS >= 0.975
    wild = estimate({0: [17.0], 1: [171.0], 2: [320.0]})
    assert 0 < wild.low < wild.value < wild.high


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


@pytest.mark.parametrize(("count", "t"), [(2, 63.657), (3, 9.925), (5, 4.604)])
def test_few_rounds_get_students_intervals(count: int, t: float) -> None:
    values = [1.0, 1.2, 1.1, 1.3, 1.15][:count]
    mean = sum(values) / count
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)
    interval = estimate({number: [math.exp(value)] for number, value in enumerate(values)})
    assert math.log(interval.value) == pytest.approx(mean)
    assert math.log(interval.high / interval.value) == pytest.approx(t * error)
    assert math.log(interval.value / interval.low) == pytest.approx(t * error)


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


def test_a_sample_below_zero_moves_no_ratio_of_several_rounds_medians() -> None:
    of, over = {0: [-9.0, 2.0, 2.0], 1: [2.0]}, {0: [4.0], 1: [4.0, 4.0, -1.0]}
    assert ratio(of, over).value == unpaired_ratio(of, over).value == 0.5


def test_none_of_a_count_is_no_share_of_another() -> None:
    interval = ratio({0: [0.0]}, {0: [5.0]})
    assert (interval.low, interval.value, interval.high) == (0, 0, 0)


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
    covered = sum(interval.low <= 1 <= interval.high for interval in intervals) / TRIALS
    assert 0.98 <= covered <= 0.999
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
    # t of 2.43902 degrees of freedom lies between the tables' 9.925 for 2 and 5.841 for 3.
    reach = (math.log(interval.high) - 3) / math.sqrt(10 / 3)
    assert 5.841 < reach < 9.925
    assert math.log(interval.low) == pytest.approx(3 - reach * math.sqrt(10 / 3))


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
    assert interval.low < interval.value < interval.high
    assert interval.high - interval.low < 0.05


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_an_unpaired_ratio_of_what_is_not_positive_is_refused(bad: float) -> None:
    several = ({0: [1.0], 1: [bad]}, {0: [1.0], 1: [1.0]})
    for pair in (several, ({0: [1.0], 1: [bad]}, {0: [1.0]}), ({0: [1.0]}, {0: [1.0, bad]})):
        with pytest.raises(ValueError, match="not positive"):
            unpaired_ratio(*pair)


def test_a_mean_over_members_has_the_interval_of_both_levels_by_hand() -> None:
    # Logarithms 1, 2, 3 of three members, moved by 0 and 0.2 in two rounds: members' means 1.1,
    # 2.1, 3.1 of variance 1, rounds' means 2 and 2.2 of variance 0.02.
    rows = [[math.exp(member + moved) for moved in (0.0, 0.2)] for member in (1.0, 2.0, 3.0)]
    interval = over_members(rows)
    assert interval.rounds == 2
    assert interval.value == pytest.approx(math.exp(2.1))
    error = 1 / 3 + 0.02 / 2
    freedom = error**2 / ((1 / 3) ** 2 / 2 + (0.02 / 2) ** 2 / 1)
    reach = math.log(interval.high / interval.value) / math.sqrt(error)
    assert 2 < freedom < 3
    assert 5.841 < reach < 9.925  # the tables' points for 3 and 2 degrees of freedom
    assert math.log(interval.value / interval.low) == pytest.approx(reach * math.sqrt(error))
    assert over_members([[-1.0], [0.0], [4.0]]).value == 1  # no logarithms: their mean
    assert over_members([[2.0, 2.0], [2.0, 2.0]]).high == 2


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_mean_of_all_that_could_be_drawn_is_covered(rounds: int) -> None:
    # Members vary by 20 %, and each round moves all of them by 1 %.
    draw = random.Random(29)
    covered = 0
    for _ in range(TRIALS):
        moved = [draw.gauss(0, 0.01) for _ in range(rounds)]
        members = [draw.gauss(0, 0.2) for _ in range(40)]
        interval = over_members(
            [[math.exp(m + r + draw.gauss(0, 0.01)) for r in moved] for m in members]
        )
        covered += interval.low <= 1 <= interval.high
    assert 0.975 <= covered / TRIALS <= 1
    one_process = statistics.estimate({0: [1.0, 1.01, 0.99]})
    assert interval.high / interval.low > one_process.high / one_process.low
