"""How many regions of a cell lie above a level, by the kind that each states."""

from pathlib import Path

import pytest

from harness.problem import manifest
from harness.problem.model import Problem
from harness.report.sections import tally
from tests.support.manifests import GOOD, written
from tests.support.pages import page, rows_of
from tests.support.small_evidence import Row, cell, samples, tables

PLACE = ("fast", "small")
RATE = (
    "  rate: {label: rate, unit: TFLOP/s, capture: timing, sample: rate, better: higher}\nclaims:"
)
KINDS = {"one": "odd", "two": "odd", "three": "even", "four": "even", "five": "even"}
ROUNDS = {
    "one": (110.0, 111.0, 112.0),
    "two": (130.0, 131.0, 132.0),
    "three": (80.0, 81.0, 82.0),
    "four": (99.0, 100.0, 102.0),  # on both sides of the level
    "five": (103.0, 103.0, 103.0),
    "a group": (500.0, 500.0, 500.0),  # states no kind
}


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return manifest.load(written(tmp_path, GOOD.replace("claims:", RATE)))


def rates() -> list[Row]:
    return [
        {**row, "region": region}
        for region, values in ROUNDS.items()
        for number, value in enumerate(values)
        for row in samples(cell("fast", number), "rate", value)
    ]


def test_regions_count_by_their_whole_interval_and_kind(problem: Problem) -> None:
    about = {"cell": cell("fast")["cell"], "unit": ""}
    facts = [about | {"name": f"kind.{name}", "text": kind} for name, kind in KINDS.items()]
    cells = [cell("fast", number) for number in range(3)]
    evidence = tables(cells=cells, samples=rates(), facts=facts)
    shown = tally.tally(page(problem, evidence), *PLACE, "rate", 100, "kind")
    assert rows_of(shown) == [
        ["", "above 100 TFLOP/s", "below 100 TFLOP/s", "neither", "median"],
        ["all", "3", "1", "1", "103 TFLOP/s"],
        ["odd", "2", "0", "0", "121 TFLOP/s"],
        ["even", "1", "1", "1", "100 TFLOP/s"],
    ]


def test_without_regions_of_a_kind_there_is_no_tally(problem: Problem) -> None:
    evidence = tables(cells=[cell("fast")], samples=samples(cell("fast"), "rate", 1.0))
    shown = tally.tally(page(problem, evidence), *PLACE, "rate", 100, "kind")
    assert "not measured" in shown
