"""What two captures of the same thing are said to differ in, on simulated steps."""

import random

import pytest

from harness.analysis.diff import gpu
from harness.analysis.diff.significance import difference, level_of_each
from harness.evidence.tables import Tables
from tests.support.timelines import Op, timeline

TRIALS, CAPTURES = 300, 20  # a comparison of captures takes 50 ms
KERNELS = {"gemm": 60_000, "add": 30_000, "softmax": 20_000, "copy": 10_000}


def simulated(draw: random.Random, steps: int, slower: float = 1.0, wild: bool = False) -> Tables:
    """Return steps whose kernels vary by 1 %, gaps by 30 %; ``wild``: one in 20 takes twice."""

    def once(middle: float) -> int:
        long = 2 if wild and draw.random() < 0.05 else 1
        return round(middle * long * draw.gauss(1, 0.01))

    return timeline(
        [
            [
                Op(
                    name,
                    once(middle * (slower if name == "gemm" else 1)),
                    after=round(2_000 * abs(draw.gauss(1, 0.3))),
                )
                for name, middle in KERNELS.items()
            ]
            for _ in range(steps)
        ]
    )


def drawn(draw: random.Random, count: int, wild: bool) -> list[float]:
    """Return values that vary by 1 %; ``wild``: one in ten is twice as large."""
    return [draw.gauss(1, 0.01) * (2 if wild and draw.random() < 0.1 else 1) for _ in range(count)]


@pytest.mark.parametrize(("count", "wild"), [(10, True), (3, False)])
def test_of_three_parts_of_the_same_twice_none_is_called_different(count: int, wild: bool) -> None:
    draw = random.Random(count)
    level = level_of_each(3)
    wrong = 0
    for _ in range(TRIALS):
        parts = [(drawn(draw, count, wild), drawn(draw, count, wild)) for _ in range(3)]
        intervals = [difference(a, b, level) for a, b in parts]
        wrong += any(interval is not None and interval.clear_of(0) for interval in intervals)
    assert wrong <= 0.02 * TRIALS


@pytest.mark.parametrize(("steps", "wild"), [(11, True), (4, False)])
def test_two_captures_of_the_same_do_not_differ(steps: int, wild: bool) -> None:
    draw = random.Random(steps)
    wrong = 0
    for _ in range(CAPTURES):
        a, b = (simulated(draw, steps, wild=wild) for _ in range(2))
        wrong += any(row.change != "unchanged" for row in gpu.compare(a, b).rows)
    assert wrong <= 1


def test_a_kernel_that_is_slower_by_a_tenth_is_found_and_no_other() -> None:
    draw = random.Random(5)
    hits, others = 0, 0
    for _ in range(CAPTURES):
        difference_of_steps = gpu.compare(simulated(draw, 11), simulated(draw, 11, slower=1.1))
        names = {row.label for row in difference_of_steps.rows if row.change != "unchanged"}
        hits += "gemm" in names
        others += bool(names - {"gemm"})
    assert hits >= 0.95 * CAPTURES
    assert others <= 1


def test_less_than_a_hundredth_of_the_step_is_not_told_though_it_is_certain() -> None:
    def capture(small: int) -> Tables:
        return timeline([[Op("gemm", 500_000 + step % 2), Op("small", small)] for step in range(9)])

    def told(small: int) -> dict[str, str]:
        rows = gpu.compare(capture(1_000), capture(small)).rows
        assert sum(row.delta_ns for row in rows if row.kind == "kernel") == 8 * (small - 1_000)
        return {row.label: row.change for row in rows if row.change != "unchanged"}

    assert told(5_000) == {}
    assert told(7_000) == {"small": "slower here"}


def test_each_of_many_intervals_is_wider_so_that_all_hold() -> None:
    assert level_of_each(1) == level_of_each(0) == pytest.approx(0.99)
    assert level_of_each(20) == pytest.approx(1 - 0.01 / 20)


def test_fewer_than_three_values_a_side_have_no_interval() -> None:
    assert difference([1.0, 2.0], [1.0, 2.0, 3.0], 0.99) is None
    assert difference([1.0, 2.0, 3.0], [1.0, 2.0], 0.99) is None
    interval = difference([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], 0.99)
    assert interval is not None
    assert interval.value == 1
