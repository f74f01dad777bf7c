"""The case of unaligned rows: which shapes, and the ratios the right way round."""

from collections.abc import Callable
from types import ModuleType

import pytest

from tests.support.hgemm import Cell


@pytest.fixture
def rivals(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("padded_rivals")


def test_each_shape_has_a_row_that_is_no_multiple_of_8(rivals: ModuleType) -> None:
    shapes = rivals.shapes()
    assert len(shapes) == 47  # as the case's label says
    assert all(n % 8 or k % 8 for _, n, k in shapes)


def test_above_one_the_operator_is_faster_and_means_are_of_shapes(rivals: ModuleType) -> None:
    rows = [row((8, 33, 65), operator=2.0, view=4.0), row((8, 33, 67), operator=2.0, view=1.0)]
    rows += [row((512, 99, 65), operator=100.0, view=50.0)]
    cell = Cell({})
    rivals.keep(cell, rows)
    assert cell.samples["8x33x65:nt", "over_view"] == [2.0, 2.0]
    assert cell.samples["up to 64 rows", "over_view"] == pytest.approx([1.0, 1.0])
    assert cell.samples["more than 64 rows", "over_view"] == [0.5, 0.5]
    assert cell.samples["all", "over_view"] == pytest.approx([0.5 ** (1 / 3)] * 2)
    assert cell.samples["by time", "over_view"] == pytest.approx([55 / 104] * 2)
    assert cell.samples["all", "over_torch"] == pytest.approx([3.0, 3.0])
    assert cell.facts["padded.8x33x65:nt"] == "N = 64, K = 72"


def row(shape: tuple[int, int, int], *, operator: float, view: float) -> dict[str, object]:
    """Return a row of two rounds, in the second of which all takes twice as long."""
    us = {"operator": operator, "early": operator, "view": view, "copied": view}
    us |= {"torch": 3 * operator, "lt0": 2 * operator}
    finals = {name: [once, 2 * once] for name, once in us.items()}
    return {"shape": shape, "plan": "sliced_m8_tt/1/1", "finals": finals}
