"""Bars: which samples are drawn, and where the text beside a row stands."""

import re
from itertools import pairwise

import pytest

from harness.problem.model import Problem
from harness.report import chart
from harness.report.sections import bars
from tests.support.pages import timed_page


def row(label: str, samples: list[float], **other: object) -> dict[str, object]:
    middle = sorted(samples)[len(samples) // 2]
    return {
        "label": label,
        "value": middle,
        "low": middle * 0.99,
        "high": middle * 1.01,
        "samples": [{"value": value} for value in samples],
        "shown": f"{middle} ms",
        "baseline": False,
    } | other


def test_few_samples_are_all_drawn() -> None:
    drawn = bars.ticks({1: [3.0, 1.0], 0: [2.0]})
    assert drawn == [{"value": 1.0}, {"value": 2.0}, {"value": 3.0}]
    assert bars.ticks({}) == []


@pytest.mark.parametrize("count", [40, 41, 79, 1000])
def test_of_many_samples_forty_are_drawn_from_the_smallest_to_the_largest(count: int) -> None:
    values = [float((7 * place) % count) for place in range(count)]
    drawn = [tick["value"] for tick in bars.ticks({0: values[::2], 1: values[1::2]})]
    assert len(drawn) == 40
    assert (drawn[0], drawn[-1]) == (min(values), max(values))
    gaps = [after - before for before, after in pairwise(drawn)]
    assert max(gaps) - min(gaps) <= 1
    assert min(gaps) > 0


def test_every_sample_of_a_row_is_a_tick_of_its_colour() -> None:
    rows = [row("a", [1.0, 1.1, 1.2], baseline=True), row("b", [5.0, 6.0])]
    svg = bars.draw(rows, "time, ms")
    for colour, count in ((chart.ORANGE, 3), (chart.BLUE, 2)):
        assert len(re.findall(f'<path d="[^"]*" fill="{colour}" opacity="0.6"', svg)) == count


def test_a_text_stands_past_the_baseline_that_it_would_lie_across() -> None:
    svg = bars.draw([row("a", [1.0], baseline=True), row("b", [0.9]), row("c", [0.01])], "time")
    starts = {
        shown: float(x)
        for x, shown in re.findall(r'translate\(([\d.]+),[\d.]+\)"[^>]*>([\d.]+ ms)<', svg)
    }
    assert starts["0.9 ms"] == pytest.approx(starts["1.0 ms"], abs=2)
    assert starts["0.01 ms"] < starts["0.9 ms"] / 4


@pytest.mark.parametrize(
    "rows",
    [
        [row("one value", [2.0], low=2.0, high=2.0)],
        [row("nothing", [0.0])],
        [row("an interval below zero", [1.0, 2.0, 9.0], low=-4.0, high=8.0)],
    ],
)
def test_what_a_log_axis_cannot_hold_is_drawn_all_the_same(rows: list[dict[str, object]]) -> None:
    svg = bars.draw(rows, "time, ms")
    assert "NaN" not in svg
    assert "Infinity" not in svg


def test_a_figure_of_nothing_is_a_line_and_no_file(example: Problem) -> None:
    empty = timed_page(example)
    assert bars.bars(empty, "times", "time", "small", "c") == (
        "*time by variant: not measured on this target.*"
    )
    assert empty.figures == {}
    full = timed_page(example, slow=4.0, fast=1.0)
    assert "(figures/times.svg)" in bars.bars(full, "times", "time", "small", "c")
    assert ">4 ms<" in full.figures["times.svg"]
