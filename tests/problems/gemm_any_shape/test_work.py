"""Stream-K: every step of every tile is computed once, and sharers of a tile find each other."""

import ctypes
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hgemm import ANY_SHAPE, FOLDER, compiled

EXPORTS = """
#include "work.cuh"
extern "C" {
int c_walk(int tiles, int spread, int steps, int unit, int units, Piece* to) {
  Walk walk(tiles, spread, steps, unit, units);
  int count = 0;
  for (Piece piece = walk.next(); piece.end > 0; piece = walk.next()) to[count++] = piece;
  return count;
}
int c_first_sharer(int spread, int steps, int tile, int units) {
  return sharers_of(spread, steps, tile, units).first;
}
int c_sharers(int spread, int steps, int tile, int units) {
  return sharers_of(spread, steps, tile, units).count;
}
int c_slot(int spread, int steps, int tile, int unit, int units) {
  return slot_of(spread, steps, tile, unit, units);
}
}
"""


class Piece(ctypes.Structure):
    _fields_ = (("tile", ctypes.c_int), ("begin", ctypes.c_int), ("end", ctypes.c_int))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("work")
    shutil.copy(ANY_SHAPE / "kernels/work.cuh", folder)
    shutil.copy(FOLDER / "kernels/layout.cuh", folder)
    return compiled(folder, EXPORTS, Path(folder))


def pieces(
    work: ctypes.CDLL, tiles: int, spread: int, steps: int, units: int
) -> Iterator[tuple[int, Piece]]:
    room = (Piece * (tiles + 4))()
    for unit in range(units):
        count = work.c_walk(tiles, spread, steps, unit, units, room)
        yield from ((unit, Piece(p.tile, p.begin, p.end)) for p in room[:count])


@given(st.data())
def test_every_step_is_computed_once_and_sharers_agree(
    work: ctypes.CDLL, data: st.DataObject
) -> None:
    tiles, steps = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 30))
    spread = data.draw(st.integers(0, tiles))
    units = data.draw(st.integers(1, max(1, spread * steps) if spread else 50))
    done: dict[tuple[int, int], int] = defaultdict(int)
    partial: dict[int, list[int]] = defaultdict(list)
    slots: set[tuple[int, int]] = set()
    for unit, piece in pieces(work, tiles, spread, steps, units):
        for step in range(piece.begin, piece.end):
            done[piece.tile, step] += 1
        if piece.end - piece.begin < steps:
            tile = piece.tile - (tiles - spread)
            partial[tile].append(unit)
            slot = (unit, work.c_slot(spread, steps, tile, unit, units))
            assert slot not in slots  # its sums overwrite no other's
            slots.add(slot)
    assert done == {(tile, step): 1 for tile in range(tiles) for step in range(steps)}
    for tile, owners in partial.items():
        first = work.c_first_sharer(spread, steps, tile, units)
        assert owners == list(range(first, first + work.c_sharers(spread, steps, tile, units)))


def test_units_get_equal_work(work: ctypes.CDLL) -> None:
    """324 tiles on 66 units: whole waves would take 5 tiles' time, equal parts take 4.91."""
    each: dict[int, int] = defaultdict(int)
    for unit, piece in pieces(work, 324, 324 - 3 * 66, 72, 66):
        each[unit] += piece.end - piece.begin
    assert max(each.values()) - min(each.values()) <= 1
    assert max(each.values()) < 4.92 * 72
