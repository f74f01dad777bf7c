"""Which way a matrix lies, and that what was measured comes before what is predicted."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.support.cuda_driver import ATTRIBUTES, Driver


@dataclass
class Tensor:
    shape: tuple[int, int]
    strides: tuple[int, int]

    def stride(self) -> tuple[int, int]:
        return self.strides


@pytest.fixture
def gpu(module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> Driver:
    played = Driver()
    monkeypatch.setattr(module("launch"), "driver", lambda: played)
    return played


@pytest.fixture
def multiplier(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("multiplier")


@pytest.mark.parametrize(
    ("shape", "strides", "order"),
    [
        ((4, 5), (5, 1), "n"),
        ((4, 5), (8, 1), "n"),  # columns of a wider matrix
        ((5, 4), (1, 5), "t"),
        ((5, 4), (1, 8), "t"),
        ((1, 5), (5, 1), "n"),
        ((5, 1), (1, 1), "t"),  # a column of contiguous elements is read as a row
        ((5, 1), (4, 1), "n"),
        ((8, 4), (8, 2), ""),  # every second column
        ((4, 4), (0, 0), ""),  # one number, expanded
        ((4, 4), (0, 1), ""),  # one row, expanded: it would be read as overlapping rows
    ],
)
def test_order(
    multiplier: ModuleType, shape: tuple[int, int], strides: tuple[int, int], order: str
) -> None:
    assert multiplier.order(Tensor(shape, strides)) == order


@pytest.mark.usefixtures("gpu")
def test_a_measured_choice_is_taken_and_an_unknown_one_is_not(
    multiplier: ModuleType, module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    plans = module("plans")
    problem = plans.Problem((512, 512, 4096), "nt")
    other = module("model").ranked(problem)[-1]
    kept = {multiplier.key(problem, "bf16"): other.name}
    by_measurement = multiplier.Multiplier("bf16", tmp_path, tuned=kept)
    assert by_measurement.plan(problem) == other
    forgotten = multiplier.Multiplier("bf16", tmp_path, tuned={"512x512x4096:nt:bf16": "no plan"})
    assert forgotten.plan(problem) == module("model").choose(problem)


def test_the_choice_is_made_for_the_memory_of_the_gpu(
    multiplier: ModuleType,
    module: Callable[[str], ModuleType],
    gpu: Driver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert module("device").peak_bandwidth() == pytest.approx(module("device").H200)
    assert module("device").highest_clock() == 1980
    monkeypatch.setattr(gpu, "attributes", ATTRIBUTES | {36: 2_619_000, 37: 5120})  # an H100's
    asked = []
    monkeypatch.setattr(multiplier, "choose", lambda *problem: asked.append(problem))
    problem = module("plans").Problem((512, 512, 4096), "nt")
    multiplier.Multiplier("bf16", tmp_path).plan(problem)
    assert asked == [(problem, pytest.approx(3.352e6, rel=1e-3))]


@pytest.mark.parametrize(
    ("first", "second", "ours"),
    [
        ((3, 4), (4, 5), True),
        ((2**31 - 1, 1), (1, 2**31 - 1), True),
        ((2**31, 1), (1, 5), False),  # the kernels take sizes as C's int
        ((3, 2**31), (2**31, 5), False),
        ((3, 1), (1, 2**31), False),
        ((3, 4), (5, 4), False),
        ((0, 4), (4, 5), False),
    ],
)
def test_sizes_that_the_kernels_take(
    multiplier: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    first: tuple[int, int],
    second: tuple[int, int],
    ours: bool,
) -> None:
    monkeypatch.setattr(multiplier, "capability", lambda _: multiplier.HOPPER)
    gpu = SimpleNamespace(index=0)
    a, b = (
        SimpleNamespace(
            is_cuda=True, device=gpu, dtype="torch.bfloat16", shape=shape, dim=lambda: 2
        )
        for shape in (first, second)
    )
    assert multiplier.computes(a, b) == ours


def test_choices_are_kept_by_gpu(
    multiplier: ModuleType,
    module: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tune = module("tune")
    for loaded in (tune, multiplier):
        monkeypatch.setattr(loaded, "TUNED", tmp_path / "tuned.json")
    problem = module("plans").Problem((64, 256, 1024))
    first, second = module("model").ranked(problem)[:2]
    finals = {"torch": [1.0], first.name: [5.0, 9.0, 9.0], second.name: [6.0, 6.0, 7.0]}
    row = {"problem": "64x256x1024:nn", "element": "bf16", "finals": finals}
    found = tune.choices([row])
    assert found == {"64x256x1024:nn:bf16": second.name}
    tune.keep("GPU A", found)
    tune.keep("GPU B", {})
    assert multiplier.tuned("GPU A") == found
    assert multiplier.tuned("GPU C") == {}
    assert set(json.loads((tmp_path / "tuned.json").read_text())) == {"GPU A", "GPU B"}
