"""Single values: what was measured, what a cell stated, what an interval covers."""

import pytest

from harness.problem.model import Problem
from harness.report.page import Page
from harness.report.sections import values
from tests.support.pages import page
from tests.support.small_evidence import cell, samples, tables


@pytest.fixture
def timed(example: Problem) -> Page:
    """Two rounds of the slow variant, one of the fast one, which states a fact."""
    slow, again, fast = cell("slow"), cell("slow", 1), cell("fast")
    rows = [row for side in (slow, again) for row in samples(side, "wall_time", 2.0, 2.0)]
    rows += samples(fast, "wall_time", 4.0, 4.0, 4.0)
    fact = {"cell": fast["cell"], "name": "kernel", "text": "GEMM"}
    evidence = tables(cells=[slow, again, fast], samples=rows, facts=[fact])
    return page(example, evidence)


def test_a_metric_and_a_ratio_have_their_unit(timed: Page) -> None:
    assert values.metric(timed, "time", "slow", "small") == "2 ms"
    assert values.ratio(timed, "time", "fast", "slow", "small").startswith("2×")


def test_both_sides_of_a_ratio_have_its_rounds(timed: Page) -> None:
    assert values.sides(timed, "time", "slow", "fast", "small") == "2 ms → 4 ms"


def test_equal_processes_are_one_value(timed: Page) -> None:
    assert values.spread(timed, "time", "slow", "small") == "2 ms"


def test_what_was_not_measured_is_not_there(timed: Page) -> None:
    assert values.has(timed, "time", "slow", "small")
    assert not values.has(timed, "time", "third", "small")
    assert values.metric(timed, "time", "third", "small") == "not measured"


def test_a_cell_states_facts_in_words(timed: Page) -> None:
    assert values.fact(timed, "kernel", "fast", "small") == "GEMM"
    assert values.fact(timed, "kernel", "slow", "small") == "not measured"
    assert values.fact(timed, "kernel", "third", "small") == "not measured"


def test_an_interval_covers_processes_or_the_samples_of_one(timed: Page) -> None:
    assert values.repeats(timed, "time", "slow", "small").startswith("4 samples in 2 processes")
    assert values.repeats(timed, "time", "fast", "small").startswith("3 samples of one process")
    assert values.repeats(timed, "time", "fast", "elsewhere") == "no samples"
