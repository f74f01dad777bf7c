"""The summary's ratios are of medians, and the better library contender is the measure."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def summary(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("summary")


def row(shape: tuple[int, int, int], choice: str, **us: list[float]) -> dict[str, Any]:
    named = {name.replace("_", "/"): times for name, times in us.items()}
    return {
        "problem": "x".join(map(str, shape)),
        "shape": list(shape),
        "finals": named,
        "choice": choice,
        "errors": {},
    }


def test_ratio_and_regret(summary: ModuleType) -> None:
    measured = row(
        (256, 256, 256),
        "stream_b",
        torch=[12.0, 12.0, 30.0],
        lt3=[10.0, 11.0, 10.0],
        stream=[8.0, 8.0, 9.0],
    )
    assert summary.library_us(measured) == 10.0
    assert summary.ours_us(measured) == (8.0, "stream")
    assert summary.regret(measured) is None  # the choice was not measured
    measured["finals"]["stream_b"] = [10.0]
    assert summary.regret(measured) == pytest.approx(0.25)


def test_shapes_are_grouped_by_alignment_and_the_worst_comes_first(summary: ModuleType) -> None:
    slow = row((8, 264, 8), "s", torch=[8.0], s=[10.0])
    slower = row((8, 24, 8), "s", torch=[5.0], s=[10.0])
    fast = row((8, 256, 512), "s", torch=[12.0], s=[10.0])
    text = summary.summary([{"wrong": "NaN"}, {"wrong": ""}], [slow, slower, fast])
    assert "2 checks, 1 wrong" in text
    assert "multiple of 8       2 shapes" in text
    assert text.index("8x24x8") < text.index("8x264x8") < text.index("8x256x512")


def test_a_copys_time_lies_between_those_of_its_neighbours_in_size(
    module: Callable[[str], ModuleType],
) -> None:
    copies = module("copies").Copies({1 << 20: 2.0, 1 << 24: 8.0, 1 << 28: 64.0})
    assert copies.us(1 << 24) == pytest.approx(8)
    assert copies.us(1 << 22) == pytest.approx(4)  # half way, in logarithms
    assert copies.us(1 << 30) == pytest.approx(64 * 8**0.5)  # beyond: as the last two grow
    assert copies.bandwidth == (1 << 28) / 64
