"""Stream-K: every step of every tile is computed once, and sharers of a tile find each other.

The kernels' own index arithmetic, compiled for the CPU. ``Launches`` plays the rest of the protocol
in any order of arrivals: what is written, counted, read and reset, from one launch to the next.
"""

import ctypes
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.battery import WHOLE, part
from tests.support.hgemm import compiled_header

EXPORTS = """
#include <vector>
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
int c_part(int unit, int slot, int cluster, int rank, int consumers, int consumer) {
  return part_index(unit, slot, cluster, rank, consumers, consumer);
}
int c_counter(int tile, int cluster, int rank, int consumers, int consumer) {
  return counter_index(tile, cluster, rank, consumers, consumer);
}
int c_last(int before, int sharers) { return last_to_arrive(before, Sharers{0, sharers}); }
// How many tiles are not computed step by step, each step once and in order.
int c_tiles_amiss(int tiles, int spread, int steps, int units) {
  std::vector<int> reached(tiles, 0), ends(tiles, 0);
  for (int unit = 0; unit < units; ++unit) {
    Walk walk(tiles, spread, steps, unit, units);
    for (Piece piece = walk.next(); piece.end > 0; piece = walk.next()) {
      if (piece.begin == reached[piece.tile]) reached[piece.tile] = piece.end;
      ends[piece.tile] += piece.end - piece.begin;
    }
  }
  int amiss = 0;
  for (int tile = 0; tile < tiles; ++tile) amiss += reached[tile] != steps || ends[tile] != steps;
  return amiss;
}
// How often four accumulators of each part are written where all tiles are cut into equal parts, by
// every thread of every unit. Returns how many pieces lie in another part than the one of their K,
// and how many accumulators add_parts would store elsewhere. A unit is a block of one consumer.
int c_left(int down, int across, int tile_m, int tile_n, int steps, int count, int* to) {
  const int tiles = down * across, units = tiles * count, of_tile = tile_m * tile_n / 4;
  int amiss = 0;
  for (int unit = 0; unit < units; ++unit) {
    Walk walk(tiles, tiles, steps, unit, units);
    for (Piece piece = walk.next(); piece.end > 0; piece = walk.next()) {
      const Sharers sharers = sharers_of(tiles, steps, piece.tile, units);
      const Tile at = grouped_tile(piece.tile, down, across, 8);
      const int part = unit - sharers.first, tile = at.row * across + at.column;
      amiss += sharers.count != count || part < 0 || part >= count;
      amiss += piece.begin != steps * part / count;
      for (int thread = 0; thread < 128; ++thread)
        for (int j = 0; j < tile_m / 64; ++j)
          for (int i = 0; i < tile_n / 2; i += 4) {
            const int64_t index =
                apart_index(part, tiles, tile, tile_m, tile_n, j) + i / 4 * 128 + thread;
            ++to[index];
            const int of_part = index % (tiles * of_tile), found = of_part / of_tile;
            const Four four = four_of(of_part - found * of_tile, tile_n);
            const int row = four.row - j * 64, column = four.column;
            amiss += found / across != at.row || found % across != at.column;
            amiss += row != sum_row(thread, i) || column != sum_column(thread, i);
            amiss += row + 8 != sum_row(thread, i + 2) || column != sum_column(thread, i + 2);
          }
    }
  }
  return amiss;
}
int c_sum_row(int thread, int i) { return sum_row(thread, i); }
int c_sum_column(int thread, int i) { return sum_column(thread, i); }
}
"""


class Piece(ctypes.Structure):
    _fields_ = (("tile", ctypes.c_int), ("begin", ctypes.c_int), ("end", ctypes.c_int))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compiled_header(tmp_path_factory.mktemp("work"), "work.cuh", EXPORTS)


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
    units = data.draw(st.integers(1, 50))  # also more than there are steps to share
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


@pytest.mark.parametrize("steps", [16, 21, 212])
@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("tile", [(64, 128), (128, 160), (256, 64)])
def test_parts_that_another_kernel_adds_are_whole(
    work: ctypes.CDLL, tile: tuple[int, int], count: int, steps: int
) -> None:
    """All is written once, in the part of its range of K, and added where it belongs."""
    down, across = 3, 2
    size = count * down * tile[0] * across * tile[1] // 4
    written = (ctypes.c_int * size)()
    assert work.c_left(down, across, *tile, steps, count, written) == 0
    assert set(written) == {1}


def test_accumulators_lie_where_the_store_of_problem_4_says(work: ctypes.CDLL) -> None:
    """hopper.cuh: d[4j..4j+3] of lane l are of columns 8j + 2(l % 4) and the next, two rows."""
    for thread, i in product(range(128), range(0, 128, 2)):
        lane, warp = thread % 32, thread // 32
        assert work.c_sum_row(thread, i) == 16 * warp + lane // 4 + 8 * (i % 4 // 2)
        assert work.c_sum_column(thread, i) == 8 * (i // 4) + 2 * (lane % 4)


def test_units_get_equal_work(work: ctypes.CDLL) -> None:
    """324 tiles on 66 units: whole waves would take 5 tiles' time, equal parts take 4.91."""
    each: dict[int, int] = defaultdict(int)
    for unit, piece in pieces(work, 324, 324 - 3 * 66, 72, 66):
        each[unit] += piece.end - piece.begin
    assert max(each.values()) - min(each.values()) <= 1
    assert max(each.values()) < 4.92 * 72


class Launches:
    """Launches of stream_k, one after the other, on one workspace and one array of counters."""

    def __init__(self, work: ctypes.CDLL, order: random.Random) -> None:
        self._work, self._order = work, order
        self._counters: Counter[int] = Counter()
        self._parts: dict[int, tuple[int, int, int]] = {}

    def launch(self, sizes: tuple[int, int, int, int], cluster: int, consumers: int) -> None:
        """Compute all tiles, with the units' arrivals in a random order."""
        tiles, steps = sizes[0], sizes[2]
        stored: Counter[tuple[int, int, int]] = Counter()
        each: dict[int, list[Piece]] = defaultdict(list)
        for unit, piece in pieces(self._work, *sizes):
            each[unit].append(piece)
        self._parts.clear()  # what an earlier launch left must not be read
        for rank, consumer in product(range(cluster), range(consumers)):
            to_come = {unit: list(own) for unit, own in each.items()}
            while to_come:
                unit = self._order.choice(sorted(to_come))
                piece = to_come[unit].pop(0)
                if not to_come[unit]:
                    del to_come[unit]
                whole = piece.end - piece.begin == steps
                place = (cluster, rank, consumers, consumer)
                if whole or self._arrive(piece, unit, sizes, place):
                    stored[piece.tile, rank, consumer] += 1
        every = product(range(tiles), range(cluster), range(consumers))
        assert stored == dict.fromkeys(every, 1)
        assert not +self._counters
        assert not self._parts

    def _arrive(
        self, piece: Piece, unit: int, sizes: tuple[int, int, int, int], place: tuple[int, ...]
    ) -> bool:
        """Write a unit's sums and count it; the last adds all. Return whether it was the last."""
        tiles, spread, steps, units = sizes
        work, tile = self._work, piece.tile - (tiles - spread)

        def part(owner: int) -> int:
            index: int = work.c_part(owner, work.c_slot(spread, steps, tile, owner, units), *place)
            assert index < 2 * units * place[0] * place[2]  # what general.py allocates
            return index

        assert part(unit) not in self._parts  # sums that nobody has added yet
        self._parts[part(unit)] = piece.tile, piece.begin, piece.end
        counter, sharers = work.c_counter(tile, *place), work.c_sharers(spread, steps, tile, units)
        before = self._counters[counter]
        self._counters[counter] += 1
        if not work.c_last(before, sharers):
            return False
        self._counters[counter] = 0
        first = work.c_first_sharer(spread, steps, tile, units)
        read = [self._parts.pop(part(owner)) for owner in range(first, first + sharers)]
        assert [own for own, _, _ in read] == [piece.tile] * sharers
        bounds = [begin for _, begin, _ in read] + [steps]
        assert bounds == [0] + [end for _, _, end in read]
        return True


def any_sizes(data: st.DataObject) -> tuple[int, int, int, int]:
    """Draw tiles, spread tiles, steps and units."""
    tiles = data.draw(st.integers(1, 12))
    sizes = data.draw(st.tuples(st.integers(0, tiles), st.integers(1, 9), st.integers(1, 16)))
    return tiles, *sizes


@given(st.data())
def test_parts_are_read_once_after_they_were_written_and_counters_are_reset(
    work: ctypes.CDLL, data: st.DataObject
) -> None:
    launches = Launches(work, random.Random(data.draw(st.integers())))
    for _ in range(2):
        cluster, consumers = data.draw(st.sampled_from([(1, 1), (2, 2), (4, 1)]))
        launches.launch(any_sizes(data), cluster, consumers)


def test_units_without_a_step_share_no_tile(work: ctypes.CDLL) -> None:
    """4097 x 1030 x 264 in tiles of 256 x 128: 21 of 153 tiles are left over, of 5 steps each.

    132 units for 105 steps: every fifth unit was counted among the sharers and never arrived.
    """
    sizes = 153, 21, 5, 132
    assert {unit for unit, _ in pieces(work, *sizes)} == set(range(132))
    assert sum(work.c_sharers(21, 5, tile, 132) for tile in range(21)) == 105
    Launches(work, random.Random(0)).launch(sizes, 1, 2)


def test_every_plan_of_the_sets_computes_every_tile(
    work: ctypes.CDLL, module: Callable[[str], ModuleType]
) -> None:
    plans, sets = module("plans"), module("shape_sets")
    seen: set[tuple[int, int, int, int]] = set()
    for shape in (*sets.ODD, *part(sets.tuning(), least=0.2), *part(sets.reported(), least=0.2)):
        steps = -(-shape[2] // 64)
        problem = plans.Problem(shape, "nt")
        for plan in plans.plans(problem):
            if plan.step(problem).source == "stream_k":
                tiles = plans.cluster_tiles(plan.config, plan.computed(problem).shape)
                assert plan.spread * steps >= plan.units or not plan.spread
                seen.add((tiles, plan.spread, steps, plan.units))
    assert len(seen) > (1000 if WHOLE else 200)
    assert [sizes for sizes in seen if work.c_tiles_amiss(*sizes)] == []
