"""The dispatcher takes what was measured, else a guess that is at least able to do it."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def dispatch(
    module: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    loaded = module("dispatch")
    monkeypatch.setattr(loaded, "CHOICES", tmp_path / "choices.json")
    loaded.choices.cache_clear()
    return loaded


def row(step: str, shape: tuple[int, int, int], tflops: float, **more: Any) -> dict[str, Any]:
    return {"kind": "time", "step": step, "shape": list(shape), "tflops": tflops} | more


def test_small_shapes_get_more_blocks_than_they_have_large_tiles(dispatch: ModuleType) -> None:
    step = dispatch.choose(1024, 1024, 1024)
    assert step.grid(1024, 1024)[0] > 100
    assert dispatch.choose(8192, 8192, 8192).tile == (128, 256, 64)


def test_shapes_that_tma_cannot_read_go_to_the_fallback(dispatch: ModuleType) -> None:
    assert dispatch.choose(4097, 4104, 4099).name == "fallback"
    assert dispatch.choose(8, 9, 8).name == "fallback"


def test_what_was_measured_is_preferred(dispatch: ModuleType) -> None:
    shape, slow, fast = (1024, 1024, 1024), "t128x128_k4_s5", "t128x64_k2_s8"
    rows = [
        row("torch", shape, 500.0, of_torch=1.0, of_cublaslt=0.9),
        row(slow, shape, 400.0, of_torch=0.8, of_cublaslt=0.72),
        row(fast, shape, 450.0, of_torch=0.9, of_cublaslt=0.81),
    ]
    found = dispatch.fastest(rows)
    assert found == [{"shape": list(shape), "step": fast, "of_better": 0.81}]
    assert dispatch.choose(*shape).name != fast
    dispatch.CHOICES.write_text(json.dumps(found))
    dispatch.choices.cache_clear()
    assert dispatch.choose(*shape).name == fast
    dispatch.choices.cache_clear()


def test_no_candidate_is_predicted_to_exceed_the_tensor_cores(dispatch: ModuleType) -> None:
    for shape in ((1024, 1024, 1024), (8192, 8192, 8192), (24576, 768, 768)):
        m, n, k = shape
        least = m * n * k / dispatch.FMA_PER_CYCLE / 132
        for step in dispatch.CANDIDATES.values():
            assert dispatch.cycles(step, *shape) > least
