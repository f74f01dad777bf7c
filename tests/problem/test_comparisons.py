"""How a plan is dealt: what is compared stays together, and nothing is lost or done twice."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.problem import comparisons, manifest
from harness.problem.model import Problem
from harness.problem.plan import Cell, Selected, plan
from tests.support.manifests import GOOD, written

CASES = """\
  small: {label: Small}
  large: {label: Large}
  huge: {label: Huge}
  busy: {label: Busy, loads_host: true}
"""
ACROSS = """\
  - id: grows
    statement: Large takes longer than small.
    metric: time
    of: {variant: fast, case: large}
    over: {case: small}
    bound: {above: 1}
"""


def study(tmp_path: Path, claims: str = "") -> tuple[Problem, list[Cell]]:
    text = GOOD.replace("  small: {label: Small}\n", CASES) + claims
    problem = manifest.load(written(tmp_path, text))
    return problem, plan(problem, Selected(rounds=2), "cpu")


def cases(cells: tuple[Cell, ...] | list[Cell]) -> set[str]:
    return {cell.case for cell in cells}


def test_the_variants_of_a_case_stay_together(tmp_path: Path) -> None:
    problem, cells = study(tmp_path)
    groups = comparisons.comparisons(problem, cells)
    assert [cases(group) for group in groups] == [{"small"}, {"large"}, {"huge"}, {"busy"}]
    assert all(len(group) == 4 for group in groups)  # two variants, two rounds


def test_cases_that_a_claim_compares_stay_together(tmp_path: Path) -> None:
    groups = comparisons.comparisons(*study(tmp_path, ACROSS))
    assert [cases(group) for group in groups] == [{"small", "large"}, {"huge"}, {"busy"}]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_parts_hold_every_cell_once_in_the_plans_order(tmp_path: Path, count: int) -> None:
    problem, cells = study(tmp_path)
    parts = comparisons.parts(problem, cells, count)
    assert len(parts) == min(count, 4)
    assert sorted(cell.id for part in parts for cell in part) == sorted(cell.id for cell in cells)
    places = {cell.id: place for place, cell in enumerate(cells)}
    for part in parts:
        assert [places[cell.id] for cell in part] == sorted(places[cell.id] for cell in part)


def test_what_loads_the_host_waits_for_the_other_gpus(tmp_path: Path) -> None:
    problem, cells = study(tmp_path)
    dealt = comparisons.dealt(problem, cells, 2)
    assert cases(dealt.in_turn) == {"busy"}
    assert sorted(map(len, dealt.beside)) == [4, 8]
    assert comparisons.dealt(problem, cells, 1).beside == (tuple(cells),)


def test_a_comparison_with_a_cell_of_two_gpus_waits_whole(tmp_path: Path) -> None:
    problem, cells = study(tmp_path)
    several = [
        replace(cell, gpus=2) if (cell.case, cell.variant) == ("huge", "slow") else cell
        for cell in cells
    ]
    assert cases(comparisons.dealt(problem, several, 2).in_turn) == {"huge", "busy"}
