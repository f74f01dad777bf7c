"""The drawing of stream-K: pieces are the kernel's own, and their work sums to the product's."""

import ctypes
import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report import own_sections
from tests.support import figures
from tests.support.hgemm import ANY_SHAPE, compiled_header

EXPORTS = """
#include "work.cuh"
extern "C" int c_walk(int tiles, int spread, int steps, int unit, int units, int* to) {
  Walk walk(tiles, spread, steps, unit, units);
  int count = 0;
  for (Piece piece = walk.next(); piece.end > 0; piece = walk.next()) {
    to[count++] = piece.tile;
    to[count++] = piece.begin;
    to[count++] = piece.end;
  }
  return count;
}
"""

drawing: Any = importlib.import_module(f"{own_sections.load(ANY_SHAPE).__name__}.spread_tiles")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compiled_header(tmp_path_factory.mktemp("drawn"), "work.cuh", EXPORTS)


@given(st.data())
def test_pieces_are_the_kernels_and_sum_to_all_steps(
    work: ctypes.CDLL, data: st.DataObject
) -> None:
    tiles, steps = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 30))
    spread, units = data.draw(st.integers(0, tiles)), data.draw(st.integers(1, 50))
    shared = drawing.Work(tiles, spread, steps, units)
    room = (ctypes.c_int * (3 * tiles + 12))()
    done = 0
    for unit in range(units):
        count = work.c_walk(tiles, spread, steps, unit, units, room)
        pieces = list(shared.pieces(unit))
        assert [number for piece in pieces for number in piece] == room[:count]
        done += sum(piece.end - piece.begin for piece in pieces)
    assert done == tiles * steps


def test_a_plan_of_the_page_by_hand() -> None:
    shared = drawing.work("5112x5112x5112:nn", "stream_128x256_c2x1_g8_s4/70/66")
    assert shared == (20 * 20, 70, 80, 66)
    assert shared.longest() == 5 * 80 + 85  # five whole tiles, and 70 * 80 / 66 steps, rounded up
    assert shared._replace(spread=0).longest() == 7 * 80  # 400 tiles on 66 units
    assert figures.overlapping(drawing.draw(shared)) == []


def test_a_swapped_plan_computes_the_transpose() -> None:
    swapped = drawing.work("50304x768x16384:nn", "stream_x192x176_c2x1_g5_s4/110/66")
    assert swapped.tiles == 2 * 286


@pytest.mark.parametrize(
    "plan", ["", "stream_64x112_c4x1_g8_s9/0/28", "split_64x32_c1x4_g16_s8/6/12", "t128x256_c2x1"]
)
def test_other_plans_are_not_drawn(plan: str) -> None:
    assert drawing.work("512x512x512:nn", plan) is None
