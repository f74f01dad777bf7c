"""Copies with addresses that only move: each 16 bytes of a stage once, from where they belong."""

import ctypes
import subprocess
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

A, B = 1 << 40, 1 << 44
"""Where the matrices lie: far from each other, so that no address is taken for another."""
SHAPES = [
    (256, 256, 256),
    (200, 136, 72),  # nothing divides it, but 8
    (130, 264, 8),
    (1, 8, 200),
]


class Copy(ctypes.Structure):
    _fields_ = (("from_", ctypes.c_uint64), ("to", ctypes.c_uint32), ("inside", ctypes.c_uint32))


Made = dict[int, tuple[int, int]]
"""Place in shared memory to the address read there, and whether it is inside the matrix."""


@pytest.fixture(scope="module")
def step(module: Callable[[str], ModuleType]) -> Any:
    """The first of the steps that copy so; the others have the same tile and threads."""
    found = [module("steps").RUNGS[name] for name in ("p6", "p7", "p8")]
    assert len({(one.tile, one.threads) for one in found}) == 1
    return found[0]


def macros(step: Any) -> dict[str, int]:
    tile_m, tile_n, tile_k = step.tile
    sizes = {"BLOCK_M": tile_m, "BLOCK_N": tile_n, "BLOCK_K": tile_k}
    return sizes | {"BLOCK_THREADS": step.threads}


def made(library: ctypes.CDLL, step: Any, origin: tuple[int, int], shape: Any) -> Made:
    """Return what all threads of a block copy; a place that is written twice is an error."""
    m, n, k = shape
    tile_m, tile_n, tile_k = step.tile
    steps = -(-k // tile_k)
    room = (Copy * (2 * steps * (tile_m + tile_n) * tile_k // 8))()
    numbers = [ctypes.c_int(one) for one in (*origin, m, n, k)]
    count = library.c_copies(ctypes.c_void_p(A), ctypes.c_void_p(B), *numbers, room)
    found = {one.to: (one.from_, one.inside) for one in room[:count]}
    assert len(found) == count
    return found


def wanted(layout: ctypes.CDLL, step: Any, origin: tuple[int, int], shape: Any) -> Made:
    """Return the same, chunk by chunk: row-major matrices, and the swizzles of layout.cuh."""
    m, n, k = shape
    tile_m, tile_n, tile_k = step.tile
    row0, column0 = origin
    found: Made = {}
    for first in range(0, k, tile_k):
        stage = first // tile_k * (tile_m + tile_n) * tile_k * 2
        for row in range(tile_m):
            for chunk in range(tile_k // 8):
                y, x = row0 + row, first + 8 * chunk
                place = stage + layout.c_swizzle_128(row, chunk)
                found[place] = A + 2 * (y * k + x), int(y < m and x < k)
        for row in range(tile_k):
            for chunk in range(tile_n // 8):
                y, x = first + row, column0 + 8 * chunk
                place = stage + tile_m * tile_k * 2 + layout.c_swizzle_256(row, chunk)
                found[place] = B + 2 * (y * n + x), int(y < k and x < n)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_each_chunk_of_a_stage_is_copied_once_from_where_it_belongs(
    layout: ctypes.CDLL,
    copies: Callable[..., ctypes.CDLL],
    step: Any,
    shape: tuple[int, int, int],
) -> None:
    library = copies(**macros(step))
    m, n, k = shape
    tile_m, tile_n, tile_k = step.tile
    for row0 in range(0, m, tile_m):
        for column0 in range(0, n, tile_n):
            found = made(library, step, (row0, column0), shape)
            assert found == wanted(layout, step, (row0, column0), shape)
            assert sorted(found) == list(
                range(0, -(-k // tile_k) * (tile_m + tile_n) * tile_k * 2, 16)
            )


def test_what_is_read_is_the_matrices_and_nothing_else(
    copies: Callable[..., ctypes.CDLL], step: Any
) -> None:
    library = copies(**macros(step))
    tile_m, tile_n, _ = step.tile
    for m, n, k in SHAPES:
        read = set()
        for row0 in range(0, m, tile_m):
            for column0 in range(0, n, tile_n):
                found = made(library, step, (row0, column0), (m, n, k))
                read |= {address for address, inside in found.values() if inside}
        whole = set(range(A, A + 2 * m * k, 16)) | set(range(B, B + 2 * k * n, 16))
        assert read == whole


@pytest.mark.parametrize(
    "wrong", [{"BLOCK_THREADS": 64}, {"BLOCK_K": 32}, {"BLOCK_N": 256, "BLOCK_THREADS": 256}]
)
def test_tiles_whose_swizzle_would_change_on_the_way_are_not_built(
    copies: Callable[..., ctypes.CDLL], step: Any, wrong: dict[str, int]
) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        copies(**macros(step) | wrong)
    assert "static assertion failed" in caught.value.stderr
