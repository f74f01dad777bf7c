"""A cell of several regions: its rows in order, named by variant, against another and a peak."""

from pathlib import Path

import pytest

from harness.problem import manifest
from harness.problem.model import Problem
from harness.report.sections import regions
from tests.support.manifests import GOOD, written
from tests.support.pages import page, rows_of
from tests.support.small_evidence import Row, cell, samples, tables

PLACE = ("fast", "small")
RATE = "  rate: {label: rate, unit: TFLOP/s, capture: timing, sample: rate, better: higher}\n"
SIZE = "  size: {label: size, unit: B, capture: timing, fact: size}\nclaims:"


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return manifest.load(written(tmp_path, GOOD.replace("claims:", RATE + SIZE)))


def of_regions(number: int, **rates: list[float]) -> list[Row]:
    return [
        {**row, "region": region}
        for region, values in rates.items()
        for row in samples(cell("fast", number), "rate", *values)
    ]


def measured() -> tuple[list[Row], list[Row]]:
    """Two rounds of three regions, and facts of the first."""
    rows = [
        *of_regions(0, slow=[98.94] * 3, fast=[494.7] * 3, other=[9.0] * 3),
        *of_regions(1, slow=[98.94] * 3, fast=[494.7] * 3, other=[9.0] * 3),
    ]
    about = {"cell": cell("fast")["cell"], "unit": ""}
    facts = [about | {"name": "size.fast", "value": 2e6}, about | {"name": "how.fast", "text": "a"}]
    return rows, facts


def table(
    problem: Problem, gpu: str = "NVIDIA H200", only: tuple[str, ...] = ()
) -> tuple[list[str], list[list[str]]]:
    rows, facts = measured()
    evidence = tables(cells=[cell("fast"), cell("fast", 1)], samples=rows, facts=facts)
    head, *cells = rows_of(
        regions.regions(
            page(problem, evidence, gpu),
            *PLACE,
            ["rate", "rate@slow", "size"],
            facts=["how"],
            only=only,
            peak=("rate", "bf16"),
        )
    )
    return head, cells


def test_a_row_a_region_in_the_order_of_the_cell(problem: Problem) -> None:
    head, rows = table(problem)
    assert head == ["", "rate", "size", "how", "of the datasheet's peak"]
    assert rows == [
        ["Slow", "98.9 TFLOP/s", "–", "–", "10.0 %"],
        ["Fast", "495 TFLOP/s", "2 MB", "a", "50.0 %"],
        ["other", "9 TFLOP/s", "–", "–", "0.9 %"],
    ]


def test_a_region_that_every_row_shows_is_said_once(problem: Problem) -> None:
    rows, _ = measured()
    made = page(problem, tables(cells=[cell("fast"), cell("fast", 1)], samples=rows))
    shown = regions.regions(made, *PLACE, ["rate", "rate@slow"])
    assert "*In every row: rate, Slow: 98.9 TFLOP/s.*" in shown


def test_some_regions_and_an_unknown_peak(problem: Problem) -> None:
    head, rows = table(problem, gpu="a GPU", only=("fast", "slow"))
    assert [row[0] for row in rows] == ["Fast", "Slow"]
    assert "of the datasheet's peak" not in head


def test_regions_are_drawn_with_the_baseline_among_them(problem: Problem) -> None:
    rows, _ = measured()
    drawn = page(problem, tables(cells=[cell("fast"), cell("fast", 1)], samples=rows))
    shown = regions.region_bars(drawn, "figure", "rate", PLACE, "caption", ("slow", "fast"))
    assert shown == "![rate, small](figures/figure.svg)\n\n*caption*"
    assert "495" in drawn.figures["figure.svg"]
    assert "other" not in drawn.figures["figure.svg"]
    for place, only in ((PLACE, ("gone",)), (("slow", "small"), ())):
        shown = regions.region_bars(drawn, "none", "rate", place, "caption", only)
        assert shown == "*rate, small: not measured on this target.*"
    assert list(drawn.figures) == ["figure.svg"]


def test_what_was_not_run_has_no_rows(problem: Problem) -> None:
    shown = regions.regions(page(problem, tables()), *PLACE, ["rate"])
    assert shown == "*small: not measured on this target.*"


def test_the_lowest_of_what_states_a_fact_come_first(problem: Problem) -> None:
    rows, facts = measured()
    about = {"cell": cell("fast")["cell"], "unit": ""}
    facts.append(about | {"name": "how.other", "text": "b"})
    made = page(problem, tables(cells=[cell("fast"), cell("fast", 1)], samples=rows, facts=facts))

    def shown(count: int) -> list[list[str]]:
        return rows_of(regions.regions(made, *PLACE, ["rate"], ["how"], lowest=count))[1:]

    assert shown(9) == [["other", "9 TFLOP/s", "b"], ["Fast", "495 TFLOP/s", "a"]]
    assert shown(1) == [["other", "9 TFLOP/s", "b"]]
