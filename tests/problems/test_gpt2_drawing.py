"""Problem 5's drawing of an epilogue: the kernel's numbers, and its order of events."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report import own_sections
from tests.support import figures
from tests.support.paths import ROOT

FOLDER = ROOT / "problems/5-gpt2-step"
drawing: Any = own_sections.load(FOLDER)


def test_boxes_are_those_of_the_kernels_tiling() -> None:
    text = (FOLDER / "fused_product.py").read_text(encoding="utf-8")
    found = re.search(r"_TILING = Tiling\((\d), (\d), (\d+), \d, \(1, 2\), \d, (\d),", text)
    assert found
    consumers, consumer_m, tile_n, store_boxes = map(int, found.groups())
    assert consumers == len({tile.consumer for tile in drawing.played(4)})
    assert (consumer_m * tile_n // 64, store_boxes) == (drawing.BOXES, drawing.BUFFERS)


@pytest.fixture(params=[1.0, 4.0])
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Six tiles; with boxes of four steps an epilogue outlasts the other consumer's products."""
    monkeypatch.setattr(drawing, "_WORK", request.param)
    return drawing.played(6)


def test_one_consumer_multiplies_at_a_time(tiles: Any) -> None:
    assert [tile.consumer for tile in tiles] == [0, 1] * 3
    for before, after in pairwise(tiles):
        assert after.begun >= before.multiplied == before.begun + drawing.STEPS


def test_a_buffer_holds_one_box_from_its_request_until_it_has_left(tiles: Any) -> None:
    for consumer in (0, 1):
        boxes = [box for tile in tiles if tile.consumer == consumer for box in tile.boxes]
        assert len(boxes) == 3 * drawing.BOXES
        for buffer in range(drawing.BUFFERS):
            for before, after in pairwise(box for box in boxes if box.buffer == buffer):
                assert after.asked >= before.stored
        for before, after in pairwise(boxes):
            assert after.begun >= max(before.worked, after.arrived)


@given(st.floats(0, 100), st.floats(0, 100))
def test_no_box_is_worked_on_before_the_sums_are_ready(asked: float, begun: float) -> None:
    assert all(box.begun >= begun for box in drawing.epilogue(asked, begun))


def test_no_text_lies_on_another() -> None:
    assert figures.overlapping(drawing.drawn()) == []
