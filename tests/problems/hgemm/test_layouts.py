"""TMA writes where wgmma reads; the epilogue writes where TMA reads; nobody meets in a bank."""

import ctypes

import pytest

from tests.support import smem

BASE = 0x8400  # as any stage's: a multiple of 1024
BOX_BYTES = 8192


@pytest.mark.parametrize("rows", [64, 96, 128, 192, 256])
def test_wgmma_reads_a_where_tma_wrote_it(layout: ctypes.CDLL, rows: int) -> None:
    written = smem.tma_box(BASE, rows, 64)
    for first in range(0, rows // 64 * 64, 64):  # each warpgroup's 64 rows
        for k in range(4):
            read = smem.wgmma_k_major(layout.c_descriptor_a(BASE + first * 128, k), 64)
            for (row, inner), address in read.items():
                assert address == written[first + row, 16 * k + inner]


@pytest.mark.parametrize("columns", [64, 128, 192, 256])
def test_wgmma_reads_b_where_tma_wrote_it(layout: ctypes.CDLL, columns: int) -> None:
    boxes = [smem.tma_box(BASE + i * BOX_BYTES, 64, 64) for i in range(columns // 64)]
    for k in range(4):
        read = smem.wgmma_mn_major(layout.c_descriptor_b(BASE, k), columns)
        for (inner, column), address in read.items():
            assert address == boxes[column // 64][16 * k + inner, column % 64]


def test_the_model_of_b_is_a_layout(layout: ctypes.CDLL) -> None:
    seen = set()
    for k in range(4):
        seen |= set(smem.wgmma_mn_major(layout.c_descriptor_b(BASE, k), 256).values())
    assert seen == set(range(BASE, BASE + 4 * BOX_BYTES, 2))


def test_a_half_of_a_split_box_is_where_the_whole_has_it() -> None:
    """In a cluster each block loads half of the rows of A: the swizzle must not notice."""
    whole = smem.tma_box(BASE, 192, 64)
    half = smem.tma_box(BASE + 96 * 128, 96, 64)
    assert all(whole[row + 96, column] == address for (row, column), address in half.items())


def test_descriptors_are_those_of_another_compiler(layout: ctypes.CDLL) -> None:
    """Triton 3.6 compiles the same product (64 x 256 x 64, B row-major) to these constants."""
    for k in range(4):
        assert layout.c_descriptor_a(0, k) & ~(0x3FFF << 16) == 4611686293305294848 + 2 * k
        assert layout.c_descriptor_b(0, k) == 4611686293338849280 + 128 * k


def test_descriptors_hold_every_address(layout: ctypes.CDLL) -> None:
    for address in range(0, 232_448 - 8192, 1024):
        assert smem.fields(layout.c_descriptor_b(address, 3))[0] == address + 6144


def test_the_epilogue_writes_what_tma_stores(layout: ctypes.CDLL) -> None:
    """Follow each accumulator through stmatrix into the box and out through TMA's swizzle."""
    stored = smem.tma_box(0, 64, 64)  # a store reads the pattern that a load writes
    place = {address: element for element, address in stored.items()}
    arrived = set()
    for warp in range(4):
        for j in range(0, 8, 2):
            offsets = [layout.c_store_offset(32 * warp + lane, j) for lane in range(32)]
            for matrix in range(4):
                for lane in range(32):
                    for half in range(2):
                        # registers 4j..4j+7, two to a matrix: rows 0-7, 8-15, then 8 columns on
                        register = 4 * j + 2 * matrix + half
                        address = offsets[8 * matrix + lane // 4] + 4 * (lane % 4) + 2 * half
                        element = smem.accumulator(32 * warp + lane, register)
                        assert place[address] == element
                        arrived.add(element)
    assert len(arrived) == 64 * 64


def test_the_epilogue_meets_in_no_bank(layout: ctypes.CDLL) -> None:
    for warp in range(4):
        for j in range(0, 8, 2):
            offsets = [layout.c_store_offset(32 * warp + lane, j) for lane in range(32)]
            assert [smem.turns(eight) for eight in smem.eighths(offsets)] == [1] * 4


@pytest.mark.parametrize("pitch", [64, 128, 256])
def test_ldmatrix_meets_in_a_bank_only_without_the_swizzle(layout: ctypes.CDLL, pitch: int) -> None:
    swizzle = getattr(layout, f"c_swizzle_{pitch}")
    chunks = pitch // 16
    places = {swizzle(row, chunk) for row in range(64) for chunk in range(chunks)}
    assert places == set(range(0, 64 * pitch, 16))
    for first in range(0, 64, 8):
        for chunk in range(chunks):
            plain = [row * pitch + 16 * chunk for row in range(first, first + 8)]
            padded = [row * (pitch + 16) + 16 * chunk for row in range(first, first + 8)]
            xored = [swizzle(row, chunk) for row in range(first, first + 8)]
            assert smem.turns(plain) == min(8, pitch // 16)
            assert smem.turns(padded) == 1
            assert smem.turns(xored) == 1


@pytest.mark.parametrize("pitch", [128, 256])
def test_a_swizzle_repeats_after_8_rows(layout: ctypes.CDLL, pitch: int) -> None:
    """So that an address moves by a constant from one of a thread's rows to its next."""
    swizzle = getattr(layout, f"c_swizzle_{pitch}")
    for row in range(256):
        for chunk in range(pitch // 16):
            assert swizzle(row + 8, chunk) == swizzle(row, chunk) + 8 * pitch


@pytest.mark.parametrize("pitch", [64, 128, 256])
def test_16_byte_stores_of_a_row_stay_conflict_free(layout: ctypes.CDLL, pitch: int) -> None:
    """cp.async and st.shared.v4 fill rows, 8 lanes a turn at best."""
    swizzle = getattr(layout, f"c_swizzle_{pitch}")
    chunks = pitch // 16
    for first in range(0, 512, 8):
        lanes = [divmod(lane, chunks) for lane in range(first, first + 8)]
        assert smem.turns([swizzle(row, chunk) for row, chunk in lanes]) == 1
