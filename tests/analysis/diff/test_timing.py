"""Unprofiled times of two cells: ratios, intervals and what they are called."""

import math
import random

import pytest

from harness.analysis.diff import timing
from harness.evidence.tables import Tables
from tests.support import small_evidence
from tests.support.small_evidence import Row, cell


def timed(
    rounds: dict[int, list[float]],
    metric: str = "latency",
    unit: str = "ms",
    region: str = "step",
    mark: str = "",
) -> Tables:
    """Return the samples of a cell's rounds."""
    cells = [cell("x", number) for number in rounds]
    rows: list[Row] = []
    for row_of_cell, values in zip(cells, rounds.values(), strict=True):
        rows += [
            row | {"unit": unit, "region": region}
            for row in small_evidence.samples(row_of_cell, metric, *values, mark=mark)
        ]
    return small_evidence.tables(cells=cells, samples=rows)


def both(*tables: Tables) -> Tables:
    import polars as pl

    return {name: pl.concat([side[name] for side in tables]) for name in tables[0]}


def rounds(
    factor: float, spread: float = 0.002, count: int = 5, seed: int = 1
) -> dict[int, list[float]]:
    draw = random.Random(seed)
    return {number: [factor * draw.gauss(1, spread) for _ in range(9)] for number in range(count)}


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(
    ("factor", "unit", "expected"),
    [
        (0.9, "ms", "faster"),
        (1.1, "ms", "slower"),
        (0.9, "µs", "faster"),
        (1.1, "s", "slower"),
        (0.9, "MB", "lower"),
        (1.1, "MB", "higher"),
        (1.0, "ms", "not told apart"),
        (1.005, "ms", "not told apart"),  # real, and less than a hundredth
    ],
)
def test_verdicts(paired: bool, factor: float, unit: str, expected: str) -> None:
    a, b = timed(rounds(3.0), unit=unit), timed(rounds(3.0 * factor, seed=2), unit=unit)
    (ratio,) = timing.compare(a, b, paired=paired)
    assert ratio.verdict == expected
    assert ratio.ratio.value == pytest.approx(factor, rel=0.004)
    assert ratio.ratio.low < ratio.ratio.value < ratio.ratio.high
    assert (ratio.a, ratio.b) == pytest.approx((3, 3 * factor), rel=0.004)
    assert (ratio.region, ratio.metric, ratio.unit, ratio.ratio.rounds) == (
        "step",
        "latency",
        unit,
        5,
    )


def test_luck_that_rounds_share_cancels_only_where_they_ran_beside_each_other() -> None:
    luck = [1.0, 1.5, 0.7, 1.2, 0.9]
    a = timed({number: [factor] * 3 for number, factor in enumerate(luck)})
    b = timed({number: [1.1 * factor] * 3 for number, factor in enumerate(luck)})
    (paired,), (apart,) = (timing.compare(a, b, paired=beside) for beside in (True, False))
    assert (paired.verdict, apart.verdict) == ("slower", "not told apart")
    assert paired.ratio.value == pytest.approx(1.1)
    assert apart.ratio.value == pytest.approx(1.1)
    assert apart.ratio.high > 1.3


@pytest.mark.parametrize("paired", [True, False])
def test_a_thing_against_itself_is_one(paired: bool) -> None:
    times = timed(rounds(2.0))
    (ratio,) = timing.compare(times, times, paired=paired)
    assert ratio.ratio.value == pytest.approx(1)
    assert ratio.verdict == "not told apart"


@pytest.mark.parametrize("paired", [True, False])
def test_fewer_than_three_rounds_a_side_describe(paired: bool) -> None:
    for count, verdict in ((1, "described"), (2, "described"), (3, "slower")):
        a, b = timed(rounds(1.0, count=count)), timed(rounds(1.2, count=count, seed=3))
        (ratio,) = timing.compare(a, b, paired=paired)
        assert ratio.ratio.rounds == count
        assert ratio.ratio.value == pytest.approx(1.2, rel=0.01)
        assert ratio.verdict == verdict


def test_warm_up_is_left_out() -> None:
    slow = timed({0: [9.0, 9.0]}, mark="warm-up")
    settled = timed({0: [1.0, 1.0, 1.0]})
    mixed = both(slow, settled)
    mixed["cells"] = settled["cells"]
    (ratio,) = timing.compare(mixed, settled, paired=True)
    assert (ratio.a, ratio.b, ratio.ratio.value) == (1, 1, 1)
    assert timing.compare(slow, slow, paired=True) == []


def test_only_metrics_of_both_in_one_unit_and_region() -> None:
    a = both(timed({0: [1.0] * 3}), timed({0: [5.0] * 3}, metric="wall_time"))
    for other in (
        timed({0: [1.0] * 3}, unit="µs"),
        timed({0: [1.0] * 3}, region="load"),
        timed({0: [1.0] * 3}, metric="gpu_time"),
        small_evidence.tables(),
    ):
        assert timing.compare(a, other, paired=False) == []
    b = both(timed({0: [2.0] * 3}), timed({0: [5.0] * 3}, metric="gpu_time"))
    assert [ratio.metric for ratio in timing.compare(a, b, paired=False)] == ["latency"]


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_what_is_not_positive_has_no_ratio(bad: float) -> None:
    a, b = timed({0: [1.0, bad]}), timed({0: [1.0, 1.0]})
    assert timing.compare(a, b, paired=False) == timing.compare(b, a, paired=True) == []


def test_the_ratio_is_the_geometric_mean_of_the_rounds_medians() -> None:
    a = timed({0: [1.0, 1.0, 50.0], 1: [2.0]})
    b = timed({0: [3.0], 1: [8.0, 8.0, 0.1]})
    for paired in (True, False):
        (ratio,) = timing.compare(a, b, paired=paired)
        assert ratio.ratio.value == pytest.approx(math.sqrt(3 * 4))
        assert (ratio.a, ratio.b) == pytest.approx((math.sqrt(1 * 2), math.sqrt(3 * 8)))
