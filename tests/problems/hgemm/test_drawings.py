"""The drawings of pages say what the kernels do: orders, banks, stages, consumers."""

import ctypes
import importlib
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report import own_sections
from tests.support import figures
from tests.support.hgemm import FOLDER

STEPS = {
    "p7": "p7_double_buffer",
    "p8": "p8_block_swizzle",
    "h6": "h6_multicast",
    "h7": "h7_tile_order",
}
PER_SM = 2
"""CTAs of p7 and p8 that fit an SM, as their pages' tables say."""
SIDE = 8192


def drawing(name: str) -> Any:
    return importlib.import_module(f"{own_sections.load(FOLDER).__name__}.{name}")


walks, banks, pipeline = map(drawing, ("tile_walk", "banks", "pipeline"))


@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 40))
def test_tiles_are_walked_as_the_kernel_walks_them(
    layout: ctypes.CDLL, rows: int, columns: int, group: int
) -> None:
    for index in range(0, rows * columns, 7):
        wanted = divmod(layout.c_grouped_tile(index, rows, columns, group), 1 << 16)
        assert walks.grouped_tile(index, rows, columns, group) == wanted


@pytest.mark.parametrize("walk", walks.WALKS, ids=lambda walk: walk.step)
def test_each_walk_is_its_steps_and_visits_each_tile_once(
    module: Callable[[str], ModuleType], walk: Any
) -> None:
    step, sms = module("steps").STEPS[STEPS[walk.step]], module("step").SMS
    down, across = step.cluster
    assert (walk.rows, walk.columns) == (step.tile[0] * down, step.tile[1] * across)
    assert walk.group == step.macros.get("GROUP", 0)
    ctas = step.grid(SIDE, SIDE)[0] if step.persistent else PER_SM * sms
    assert walk.at_once == ctas // (down * across)
    order = [tile for wave in walk.waves(SIDE) for tile in wave]
    assert len(set(order)) == len(order) == SIDE // walk.rows * (SIDE // walk.columns)


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_blocks_hold_each_tile_once(tiles: set[tuple[int, int]]) -> None:
    held = Counter(
        (row, column)
        for (top, bottom), (left, right) in walks.blocks(tiles)
        for row in range(top, bottom)
        for column in range(left, right)
    )
    assert held == Counter(tiles)


def test_a_wave_reads_the_bytes_counted_by_hand() -> None:
    two_mib = 128 * SIDE * 2
    by_step = {walk.step: walk for walk in walks.WALKS}
    read = {
        step: walks.footprint_bytes(walk, walk.waves(SIDE)[0], SIDE) / two_mib
        for step, walk in by_step.items()
    }
    assert read == {"p7": 5 + 64, "p8": 16 + 17, "h6": 2 * (3 + 32), "h7": 2 * (8 + 8)}


def test_bank_groups_are_those_of_the_kernels_swizzle(layout: ctypes.CDLL) -> None:
    xor = banks.LAYOUTS[2]
    for row in range(8):
        addresses = [xor.address(row, chunk) for chunk in range(16)]
        assert addresses == [layout.c_swizzle_256(row, chunk) for chunk in range(16)]
        assert sorted(addresses) == [row * 256 + 16 * chunk for chunk in range(16)]


@pytest.mark.parametrize(("place", "conflict"), [(0, 8), (1, 1), (2, 1)])
def test_a_column_of_chunks_conflicts_as_its_layout_says(place: int, conflict: int) -> None:
    of = banks.LAYOUTS[place]
    for chunk in range(8):
        groups = Counter(of.bank_group(row, chunk) for row in range(8))
        assert max(groups.values()) == conflict
    pitches = [each.pitch for each in banks.LAYOUTS]
    for name, pitch in zip(("p1_vectorized", "p2_padding", "p4_swizzle"), pitches, strict=True):
        padded = "PITCH_B = TILE_N + 8" in (FOLDER / "kernels" / f"{name}.cu").read_text()
        assert pitch == 256 + 16 * padded


@given(st.integers(1, 8), st.floats(0.1, 9), st.integers(1, 60))
def test_a_stage_is_neither_overwritten_nor_read_early(
    stages: int, load: float, count: int
) -> None:
    steps = pipeline.ring(stages, load, count)
    for number, step in enumerate(steps):
        assert step.begun >= step.arrived and step.ended == step.begun + 1
        if number >= stages:
            assert step.issued >= steps[number - stages].ended
        if number:
            assert step.begun >= steps[number - 1].ended


def test_a_ring_hides_the_load_that_is_drawn_and_none_longer() -> None:
    def gaps(load: float) -> float:
        steps = pipeline.ring(5, load, 50)
        return float(steps[-1].begun - steps[0].begun - 49)

    assert gaps(4.0) == pytest.approx(0)
    assert gaps(4.5) > 4


@given(st.floats(0.2, 5), st.floats(0, 5), st.integers(2, 20))
def test_consumers_take_turns_and_store_before_they_go_on(
    multiply: float, store: float, count: int
) -> None:
    tiles = pipeline.ping_pong(multiply, store, count)
    assert [tile.number for tile in tiles] == list(range(count))
    for before, after in pairwise(tiles):
        assert after.begun >= before.multiplied and after.consumer != before.consumer
    for before, after in zip(tiles, tiles[2:], strict=False):
        assert after.begun >= before.stored and after.consumer == before.consumer


@pytest.mark.parametrize("active", [0.5, 0.84, 1.0])
def test_h7s_pipe_is_drawn_active_for_its_share(active: float) -> None:
    tiles = pipeline.together(1, 1 / active - 1, 3)
    assert 3 / tiles[-1].stored == pytest.approx(active)


def test_no_text_of_a_drawing_lies_on_another() -> None:
    drawn = [walks.draw(SIDE), banks.draw(), pipeline.draw_stages(5), pipeline.draw_consumers(0.84)]
    assert [figures.overlapping(each) for each in drawn] == [[]] * 4
