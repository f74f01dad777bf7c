"""Boxes other than 64 by 64: wgmma reads where TMA writes, the epilogue writes where TMA reads.

kernels/boxes.cuh, compiled for the CPU, against the hardware's rules in tests/support/smem.py.
"""

import ctypes
from collections.abc import Callable
from types import ModuleType

import pytest

from tests.support import smem
from tests.support.hgemm import compiled_header

BASE = 0x8400
SHARED = (
    *((0, span, parts, 64) for span in (64, 112, 128, 192, 208, 256) for parts in (1, 2, 4)),
    *((1, span, parts, 64) for span in (64, 128, 192) for parts in (1, 2, 4)),
    *((1, span, parts, 32) for span in (96, 160) for parts in (1, 2, 4)),
)
"""Operands' stages: 1 with rows of k, rows of A or columns of B, blocks that share it, columns of a
box of rows of k."""
CASES = "".join(
    f"case {which}: return share<{mn}, {span}, {parts}, {columns}>(part, turn, found);"
    for which, (mn, span, parts, columns) in enumerate(SHARED)
)
EXPORTS = """
#include "boxes.cuh"
// Of a part and a turn: first row or column, first k, bytes to there; rows or columns and k of a
// box; whether no block loads fewer. Returns the turns.
template <int MN, int SPAN, int PARTS, int COLUMNS> int share(int part, int turn, int* found) {
  using P = Part<MN, SPAN, PARTS, COLUMNS>;
  found[0] = P::first(part, turn), found[1] = P::first_k(part), found[2] = P::offset(part, turn);
  found[3] = P::WIDE, found[4] = P::DEEP, found[5] = P::EVEN;
  return P::TURNS;
}
extern "C" {
int c_share(int which, int part, int turn, int* found) {
  switch (which) { CASES }
  return 0;
}
uint64_t c_narrow_16(uint32_t tile, int k) { return narrow_descriptor<16>(tile, k); }
uint64_t c_narrow_32(uint32_t tile, int k) { return narrow_descriptor<32>(tile, k); }
uint64_t c_descriptor_32(uint32_t tile, int k) { return descriptor_of<1, 32>(tile, k); }
uint64_t c_descriptor_64(uint32_t tile, int k) { return descriptor_of<1>(tile, k); }
int c_k16_32() { return K16_BYTES<1, 32>; }
int c_k16_64() { return K16_BYTES<1>; }
int c_transposed(int thread, int j) { return transposed_offset(thread, j); }
int c_plain_40(int thread, int j) { return plain_offset<40>(thread, j); }
int c_plain_56(int thread, int j) { return plain_offset<56>(thread, j); }
int c_plain_72(int thread, int j) { return plain_offset<72>(thread, j); }
int c_plain_88(int thread, int j) { return plain_offset<88>(thread, j); }
int c_plain_104(int thread, int j) { return plain_offset<104>(thread, j); }
}
"""


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    loaded = compiled_header(
        tmp_path_factory.mktemp("boxes"), "boxes.cuh", EXPORTS.replace("CASES", CASES)
    )
    for name in ("narrow_16", "narrow_32", "descriptor_32", "descriptor_64"):
        getattr(loaded, f"c_{name}").restype = ctypes.c_uint64
    return loaded


@pytest.mark.parametrize("columns", [16, 32])
def test_wgmma_reads_narrow_rows_of_k_where_tma_wrote_them(
    boxes: ctypes.CDLL, columns: int
) -> None:
    written = smem.tma_box(BASE, 64, columns, 2 * columns)
    seen = set()
    for k in range(4):
        descriptor = getattr(boxes, f"c_narrow_{columns}")(BASE, k)
        assert smem.SWIZZLED[descriptor >> 62] == 2 * columns
        for (inner, column), address in smem.wgmma_mn_major(descriptor, columns).items():
            assert address == written[16 * k + inner, column]
            seen.add(address)
    assert seen == set(range(BASE, BASE + 64 * columns * 2, 2))


@pytest.mark.parametrize(
    ("columns", "tile_n"), [(32, 80), (32, 96), (32, 224), (64, 128), (64, 240)]
)
def test_wgmma_reads_boxes_of_rows_of_k_side_by_side(
    boxes: ctypes.CDLL, columns: int, tile_n: int
) -> None:
    """From 16 k to the next a descriptor moves by ``K16_BYTES``; the last box may be cut."""
    written = {
        (k, number * columns + column): address
        for number in range(-(-tile_n // columns))
        for (k, column), address in smem.tma_box(
            BASE + number * 64 * columns * 2, 64, columns, 2 * columns
        ).items()
    }
    descriptor_of = getattr(boxes, f"c_descriptor_{columns}")
    for k in range(4):
        descriptor = descriptor_of(BASE, k)
        assert descriptor == descriptor_of(BASE, 0) + k * getattr(boxes, f"c_k16_{columns}")() // 16
        for (inner, column), address in smem.wgmma_mn_major(descriptor, tile_n).items():
            assert address == written[16 * k + inner, column]


@pytest.mark.parametrize("wide", [40, 56, 72, 88, 104])
def test_sums_reach_a_plain_box_without_meeting_in_a_bank(boxes: ctypes.CDLL, wide: int) -> None:
    """TMA stores a box without swizzle as rows one after the other."""
    offset = getattr(boxes, f"c_plain_{wide}")
    arrived = {}
    for warp in range(4):
        for j in range(wide // 8):
            offsets = [offset(32 * warp + lane, j) for lane in range(16)]
            assert [smem.turns(eight) for eight in smem.eighths(offsets)] == [1, 1]
            for element, (matrix, row, column) in _stored(warp, j).items():
                arrived[element] = offsets[8 * matrix + row] + 2 * column
    assert arrived == {
        (row, column): (row * wide + column) * 2 for row in range(64) for column in range(wide)
    }


@pytest.mark.parametrize("rows", [40, 64, 104])
def test_sums_reach_a_swizzled_box_transposed(boxes: ctypes.CDLL, rows: int) -> None:
    """A row of the box is a column of the accumulators; no two rows of a matrix share a bank."""
    wanted = smem.tma_box(0, rows, 64)
    arrived = {}
    for warp in range(4):
        for j in range(rows // 8):
            offsets = [boxes.c_transposed(32 * warp + lane, j) for lane in range(16)]
            assert [smem.turns(eight) for eight in smem.eighths(offsets)] == [1, 1]
            for (row, column), (matrix, within, across) in _stored(warp, j).items():
                # .trans: the matrix's columns become its rows
                arrived[column, row] = offsets[8 * matrix + across] + 2 * within
    assert arrived == wanted


def _stored(warp: int, j: int) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Return where stmatrix x2 takes each accumulator: matrix, row and column in it.

    Lane l holds two elements of row l / 4 of each: registers 4j, 4j + 1 of the first matrix, the
    next two of the second.
    """
    return {
        smem.accumulator(32 * warp + lane, 4 * j + 2 * matrix + half): (
            matrix,
            lane // 4,
            lane % 4 * 2 + half,
        )
        for lane in range(32)
        for matrix in range(2)
        for half in range(2)
    }


@pytest.mark.parametrize("which", range(len(SHARED)))
def test_blocks_that_share_load_each_byte_once(
    module: Callable[[str], ModuleType], boxes: ctypes.CDLL, which: int
) -> None:
    """All to where a single block would load it; the driver is told of boxes of the same size."""
    mn, span, parts, columns = SHARED[which]
    box_rows = module("families").box_rows(bool(mn), span, parts, columns)
    found = (ctypes.c_int * 6)()
    arrived: dict[tuple[int, int], int] = {}
    counts = []
    for part in range(parts):
        turns = boxes.c_share(which, part, 0, found)
        count = 0
        for turn in range(turns):
            boxes.c_share(which, part, turn, found)
            first, first_k, offset, wide, deep, even = found
            if first >= span:
                assert not even
                assert turn == turns - 1
                continue
            count += 1
            rows, across = (deep, wide) if mn else (wide, deep)
            assert rows == box_rows
            for (row, column), address in smem.tma_box(
                BASE + offset, rows, across, 2 * across
            ).items():
                place = (first + column, first_k + row) if mn else (first + row, column)
                assert place not in arrived
                arrived[place] = address
        counts.append(count)
    assert max(counts) - min(counts) <= 1
    assert bool(found[5]) == (max(counts) == min(counts))
    assert arrived == _whole(mn, span, columns)


def _whole(mn: int, span: int, columns: int) -> dict[tuple[int, int], int]:
    """Return where a lone block loads each row of A or column of B and k of a stage."""
    if not mn:
        return smem.tma_box(BASE, span, 64)
    return {
        (first + column, k): address
        for first in range(0, span, columns)
        for (k, column), address in smem.tma_box(
            BASE + first * 128, 64, columns, 2 * columns
        ).items()
    }
