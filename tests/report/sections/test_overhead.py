"""The cost of a capture: a profiled step over an unprofiled one, of medians."""

import pytest

from harness.problem.model import Problem
from harness.report.sections.overhead import overhead as section
from tests.support.pages import page, rows_of
from tests.support.small_evidence import Row, cell, samples, tables


def overhead(example: Problem, *timed: tuple[Row, list[float]]) -> dict[str, list[str]]:
    """Return the table's cells by the first of each row."""
    evidence = tables(
        cells=[of for of, _ in timed],
        samples=[row for of, values in timed for row in samples(of, "latency", *values)],
    )
    return {first: rest for first, *rest in rows_of(section(page(example, evidence), "small"))}


def times(text: str) -> float:
    assert text.endswith("×")
    return float(text.removesuffix("×"))


def test_the_cost_of_a_capture_is_its_median_step_over_the_unprofiled(example: Problem) -> None:
    rows = overhead(
        example,
        (cell("slow"), [2.0, 2.0, 9.0]),
        (cell("slow", 1), [2.0, 2.0]),
        (cell("slow", capture="torch"), [5.0, 5.0, 90.0]),
        (cell("slow", capture="memory"), [3.0]),
        (cell("slow", capture="ncu", status="failed", reason="no"), [80.0]),
        (cell("fast"), [1.0]),
    )
    captures = rows["variant"]
    slow = dict(zip(captures, rows["Slow"], strict=True))
    assert {*slow} == {"torch", "memory"}  # nsys did not run, and ncu failed
    assert (times(slow["torch"]), times(slow["memory"])) == (2.5, 1.5)
    assert "Fast" not in rows  # nothing of it was profiled


def test_a_capture_of_a_part_of_the_step_has_no_cost(example: Problem) -> None:
    recorded = [("timing", "whole", 2.0), ("torch", "whole", 5.0), ("ncu", "part", 80.0)]
    cells = {kind: cell("slow", capture=kind) for kind, _, _ in recorded}
    latencies = [
        row | {"region": region}
        for kind, region, value in recorded
        for row in samples(cells[kind], "latency", value)
    ]
    evidence = tables(cells=[*cells.values()], samples=latencies)
    assert rows_of(section(page(example, evidence), "small")) == [
        ["variant", "torch"],
        ["Slow", "2.5×"],
    ]


@pytest.mark.parametrize("capture", ["timing", "torch"])
def test_without_both_sides_the_cost_is_not_measured(example: Problem, capture: str) -> None:
    row = cell("slow", capture=capture)
    evidence = tables(cells=[row], samples=samples(row, "latency", 2.0))
    shown = section(page(example, evidence), "small")
    assert shown == "*Cost of the captures: not measured on this target.*"
