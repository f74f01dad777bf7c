"""Shared memory as the hardware sees it: TMA's swizzle, wgmma's descriptors, banks.

Written from the PTX ISA's description, not from the kernels: the tests hold the two against each
other.
"""

from collections.abc import Iterable, Iterator

ELEMENT = 2
BANKS = 32


SWIZZLED = {1: 128, 2: 64, 3: 32}
"""Bytes of the swizzle by the mode in a descriptor."""


def swizzled(address: int, size: int = 128) -> int:
    """Return where a swizzle of 128, 64 or 32 bytes puts a byte.

    Bits 4-6 XOR bits 7-9 of its address; of 64 bytes only the lower two of them, of 32 the lowest.
    """
    return address ^ ((address >> 7 & (size // 16 - 1)) << 4)


def tma_box(base: int, rows: int, columns: int, size: int = 128) -> dict[tuple[int, int], int]:
    """Return the address of each (row, column) after a TMA load of a box, in a swizzle."""
    assert columns * ELEMENT <= size
    return {
        (row, column): swizzled(base + row * columns * ELEMENT + column * ELEMENT, size)
        for row in range(rows)
        for column in range(columns)
    }


def fields(descriptor: int) -> tuple[int, int, int, int]:
    """Return start address, leading and stride byte offset, and swizzle mode."""
    assert descriptor >> 49 & 7 == 0, "base offset: atoms begin at multiples of 1024"
    return (
        (descriptor & 0x3FFF) << 4,
        (descriptor >> 16 & 0x3FFF) << 4,
        (descriptor >> 32 & 0x3FFF) << 4,
        descriptor >> 62,
    )


def wgmma_k_major(descriptor: int, rows: int) -> dict[tuple[int, int], int]:
    """Return the address from which one wgmma reads each (row, k) of a K-major operand.

    Canonical layout ((8,m),(T,2k)):((8T,SBO),(1,T)) in elements of T to 16 bytes.
    """
    start, _, stride, mode = fields(descriptor)
    assert mode == 1
    return {
        (row, k): swizzled(start + row % 8 * 128 + row // 8 * stride + k * ELEMENT)
        for row in range(rows)
        for k in range(16)
    }


def wgmma_mn_major(descriptor: int, columns: int) -> dict[tuple[int, int], int]:
    """Return the address from which one wgmma reads each (k, column) of an MN-major operand.

    Canonical layout ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)); 4 or 2 in place of 8 T in the swizzles of
    64 or 32 bytes.
    """
    start, leading, stride, mode = fields(descriptor)
    size = SWIZZLED[mode]
    wide = size // ELEMENT
    return {
        (k, column): swizzled(
            start
            + column % wide * ELEMENT
            + column // wide * leading
            + k % 8 * size
            + k // 8 * stride,
            size,
        )
        for k in range(16)
        for column in range(columns)
    }


def accumulator(thread: int, register: int) -> tuple[int, int]:
    """Return the (row, column) of a thread's register in wgmma's 64 x N result."""
    warp, lane = divmod(thread, 32)
    row = 16 * warp + lane // 4 + 8 * (register // 2 % 2)
    return row, register // 4 * 8 + lane % 4 * 2 + register % 2


def turns(addresses: Iterable[int], width: int = 16) -> int:
    """Return how many turns one group of lanes needs: the most distinct words in one bank."""
    words = {(address + byte) // 4 for address in addresses for byte in range(0, width, 4)}
    counts = [0] * BANKS
    for word in words:
        counts[word % BANKS] += 1
    return max(counts)


def eighths(addresses: list[int]) -> Iterator[list[int]]:
    """Yield the addresses of 8 lanes at a time: one 8x8 matrix of ldmatrix or stmatrix."""
    for first in range(0, len(addresses), 8):
        yield addresses[first : first + 8]
