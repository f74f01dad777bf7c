"""The case of real layers: which shapes, which script, and the ratios the right way round."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from harness.problem.manifest import find
from harness.problem.plan import Selected, plan
from tests.support.hgemm import ANY_SHAPE, Cell, layer_rows
from tests.support.torch_cpu import needs_torch, run

PRODUCTS = """
import sys
sys.path[:0] = ["8-gemm-any-shape", ".."]
import torch
from plans import Problem
from real_layers import Padded
for m, n, k in ((3, 50, 17), (5, 64, 20), (4, 7, 24)):
    a, b, c = torch.randn(m, k), torch.randn(n, k), torch.zeros(m, n)
    for copied in (False, True):
        padded = Padded(Problem((m, n, k), "nt"), copied=copied)
        for _ in range(2):
            found = padded(a, b, c)
            assert torch.allclose(found, a @ b.t(), atol=1e-4)
            assert (found.data_ptr() == c.data_ptr()) == copied
            a *= 2
"""


@pytest.fixture
def real_layers(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("real_layers")


def test_sixty_layers_have_weights_of_100_mb_to_1_gb(real_layers: ModuleType) -> None:
    sizes = [size for layers in real_layers.LAYERS.values() for size in layers]
    shapes = real_layers.layers()
    assert len(sizes) == len(set(sizes)) == 15
    assert len(shapes) == 60
    assert {m for m, _, _ in shapes} == {1, 4, 16, 64}
    assert all(1e8 <= 2 * n * k <= 1e9 for n, k in sizes)


def test_only_shapes_that_cublas_reads_unaligned_are_padded(real_layers: ModuleType) -> None:
    odd = (*real_layers.HEADS, *real_layers.PATCHES)
    assert all(n % 8 or k % 8 for _, n, k in odd)
    assert not any(n % 8 or k % 8 for _, n, k in real_layers.layers())
    assert len({*odd}) == len(odd)


def test_the_case_runs_its_own_script_in_three_processes() -> None:
    problem = find(ANY_SHAPE.parent, "8")
    cells = plan(problem, Selected(cases=("real-layers",)), "cuda")
    assert [(cell.variant, cell.capture, cell.round) for cell in cells] == [
        ("in-turn", "timing", at) for at in range(3)
    ]
    assert {cell.script for cell in cells} == {"real_layers.py"}
    assert {cell.script for cell in plan(problem, Selected(), "cuda")} == {
        "padded_rivals.py",
        "real_layers.py",
        "repro.py",
    }


def test_ratios_are_taken_the_right_way_round(real_layers: ModuleType) -> None:
    finals = {"torch": [12.0, 24.0], "lt0": [11.0, 22.0], "lt1": [20.0, 40.0]}
    finals |= {"operator": [10.0, 20.0], "early": [12.5, 25.0]}
    finals |= {"view": [5.0, 10.0], "copied": [6.0, 12.0]}
    found = real_layers.series(finals, 44000)
    assert found["over_library"] == [1.1, 1.1]
    assert found["pdl_cost"] == [1.25, 1.25]
    assert found["pad_gain"] == [2.0, 2.0]
    assert found["lt_us"] == finals["lt0"]
    assert found["library_gb_s"] == [4.0, 2.0]
    faster = real_layers.series(finals | {"torch": [9.0, 18.0]}, 36000)
    assert faster["over_library"] == [0.9, 0.9]
    assert faster["library_gb_s"] == [4.0, 2.0]


def test_bytes_are_of_all_three_operands(real_layers: ModuleType) -> None:
    assert real_layers.moved((2, 3, 5)) == 2 * (2 * 5 + 5 * 3 + 2 * 3)


def test_what_is_lowest_is_named_and_groups_are_of_their_shapes(real_layers: ModuleType) -> None:
    rows = layer_rows(real_layers)
    slow = next(row for row in rows if row["shape"] == (64, 8192, 8192))
    slow["finals"]["operator"] = [2 * us for us in slow["finals"]["operator"]]
    head = next(row for row in rows if row["shape"] == (4096, 50257, 768))
    head["finals"]["view"] = [2 * us for us in head["finals"]["view"]]
    cell = Cell({})
    real_layers.keep(cell, rows)
    assert cell.facts["least_over_library"] == pytest.approx(1.05 / 2)
    assert cell.facts["least_over_library_shape"] == "64x8192x8192:nt"
    assert cell.facts["least_pad_gain"] == pytest.approx(1 / 1.6)
    assert cell.facts["least_pad_gain_shape"] == "4096x50257x768:nt"
    assert cell.facts["shapes"] == 60
    assert cell.samples["few rows", "pdl_cost"] == pytest.approx([1.1] * 10)  # M = 64 is no part
    assert cell.samples["all", "over_library"] == pytest.approx([1.05 / 2 ** (1 / 60)] * 10)
    of_model = cell.samples["Llama 3 70B", "over_library"]
    assert of_model == pytest.approx([1.05 / 2 ** (1 / 16)] * 10)


def test_every_contender_of_a_shape_is_timed(
    real_layers: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def contest(sides: Any, always: Any, sets: Any, _at: Any, regime: Any) -> dict[str, Any]:
        asked.update(always=always, sets=sets, regime=regime)
        return {"finals": {name: [1.0] for name in (*always, *sides["library"])}}

    def library(_element: str, _cache: Path, *, pdl: bool) -> SimpleNamespace:
        return SimpleNamespace(run=lambda plan, _: (plan.name, pdl))

    monkeypatch.setattr(real_layers, "contest", contest)
    monkeypatch.setattr(real_layers, "prepare", lambda: None)
    names = iter(("first", "second"))

    def operands(*_: Any) -> SimpleNamespace:
        name = next(names)
        return SimpleNamespace(sets=lambda _: [name])

    monkeypatch.setattr(real_layers, "OperandPool", operands)
    right = SimpleNamespace(of=lambda _: {"wrong": ""})
    monkeypatch.setattr(real_layers, "Reference", lambda *_: right)
    pool = SimpleNamespace(able=lambda _: [0, 2], run=lambda index: index)
    monkeypatch.setattr(real_layers, "Pool", lambda *_: pool)
    monkeypatch.setattr(real_layers, "Library", library)
    operator = MagicMock()
    operator.plan.return_value = SimpleNamespace(name="chosen")
    monkeypatch.setattr(real_layers, "Multiplier", lambda *_: operator)
    timing = real_layers.Timing("bf16", real_layers.Regime(1, rounds=10))
    row = timing.row((1, 8192, 8192))
    assert asked["always"]["early"] == ("chosen", True)
    assert asked["sets"] == ["first", "second"] * 3  # PDL acts between launches of a graph
    assert asked["regime"].rounds == 10
    assert set(row["finals"]) == {"torch", "operator", "early", "lt0", "lt2"}
    assert set(timing.row((64, 50257, 768))["finals"]) >= {"view", "copied"}
    right.of = lambda _: {"wrong": "3 NaN"}
    with pytest.raises(SystemExit, match="1x8192x8192:nt: operator, chosen: 3 NaN"):
        timing.row((1, 8192, 8192))


@needs_torch
def test_padded_products_are_right() -> None:
    run(PRODUCTS)
