"""The kernel for few rows or columns and for a tiny C: its configurations, and when to try them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ladder import BOX, HOPPER, SMS, Shape, Step
from slicings import MOST_SLICES

BLOCK_WARPS = 8
"""Warps of a block."""
COLUMNS = 8
"""Columns of a tile, as mma.sync has them."""
SIZES = {
    (16, 4): (4, 3),
    (16, 8): (2, 2),
    (32, 8): (2, 2),
    (64, 8): (3, 3),
    (128, 8): (2, 2),
}
"""Blocks on a multiprocessor, as many as its registers allow, by rows and loads: where the
narrow operand's columns run along k, and where it has rows of k. From 64 rows on the wide operand
has rows of k."""
FEW = 64
"""Rows or columns that are few in a C of at most ``TINY`` elements."""
TINY = 1 << 15
STREAM = 4 << 20
"""Elements of a wide operand from which on its bandwidth decides, not the latency of a load."""
SMALL = 1 << 18
"""Elements of a wide operand below which a few warps hold all that is in flight."""
WARP_STEP = 32
"""K of a step of a warp."""
OCCUPIED, UNROLLED, TALL = (16, 4), (16, 8), 32
"""Rows and loads: many warps on a multiprocessor, or few turns of each; and the rows of a
warp that reads the narrow operand less often."""


@dataclass(frozen=True)
class Dots:
    """A configuration of dots. ``few_rows``: C's rows are the narrow side, else its columns.

    ``rows``: of the wide operand that a warp multiplies. ``loads``: of 16 bytes that a thread has
    in flight.
    """

    few_rows: bool
    rows: int
    loads: int

    @property
    def name(self) -> str:
        """The narrow side's place, rows of a warp, loads in flight."""
        return f"{'m' if self.few_rows else 'n'}{self.rows}_l{self.loads}"

    def rows_of_k(self, layout: str) -> tuple[bool, bool]:
        """Return whether the wide and the narrow operand have rows of k."""
        a, b = layout[0] == "t", layout[1] == "n"
        return (b, a) if self.few_rows else (a, b)


def dotted(dots: Dots, layout: str) -> Step:
    """Return dots for a layout; it is the same for few rows and few columns."""
    x_mn, y_mn = dots.rows_of_k(layout)
    blocks = SIZES[dots.rows, dots.loads][y_mn]
    lie = "".join("r" if rows_of_k else "k" for rows_of_k in (x_mn, y_mn))
    return Step(
        f"dots_{dots.rows}_l{dots.loads}_{lie}",
        "dot products",
        "A wide operand streams through registers once: no stages to fill, no copies.",
        HOPPER,
        (dots.rows, COLUMNS, BOX),
        threads=32 * BLOCK_WARPS,
        blocks_per_sm=blocks,
        align=1,
        macros={
            "X_MN": int(x_mn),
            "Y_MN": int(y_mn),
            "ROWS": dots.rows,
            "LOADS": dots.loads,
            "BLOCKS": blocks,
        },
        source="dots",
        pdl=True,
    )


def spreads(shape: Shape, layout: str) -> Iterator[tuple[Dots, int, int]]:
    """Yield the configurations for few rows or columns and for a tiny C, with how K is spread.

    That is over so many warps of a block, and over so many blocks of a cluster.
    """
    m, n, k = shape
    for few_rows in (True, False):
        wide, few = (n, m) if few_rows else (m, n)
        tiny = few <= min(wide, FEW) and m * n <= TINY
        if few > COLUMNS and not tiny:
            continue
        rows_of_k, _ = Dots(few_rows, 0, 0).rows_of_k(layout)
        long = wide * k >= STREAM
        for size in SIZES:
            rows, loads = size
            if rows_of_k != (rows >= BOX) or (rows > BOX and wide <= BOX):
                continue
            if (size == UNROLLED and long) or (rows == TALL and not long):
                continue
            if size == OCCUPIED and wide * k < SMALL:
                continue
            dots = Dots(few_rows, rows, loads)
            tiles = -(-wide // rows) * -(-few // COLUMNS)
            for ways, slices in _parts(tiles, size, k, long=long):
                yield dots, ways, slices


def _parts(tiles: int, size: tuple[int, int], k: int, *, long: bool) -> Iterator[tuple[int, int]]:
    """Yield over how many warps of a block, and blocks of a cluster, to spread K.

    About as many parts as fill the GPU, and fewer, of which less is added. Of much work also more,
    so that blocks end one after the other.
    """
    blocks, _ = SIZES[size]
    rows_of_k = size[0] >= BOX
    at_once = SMS * blocks * (1 if rows_of_k else BLOCK_WARPS)
    most = _power(k / (2 * WARP_STEP if rows_of_k else WARP_STEP))
    most = min(most, MOST_SLICES if rows_of_k else BLOCK_WARPS * MOST_SLICES)
    filling = min(most, _power(at_once / tiles))
    counts = {filling, filling // 2, min(most, 4 * filling) if long else filling // 4}
    if size == OCCUPIED and not long:
        counts = {filling}
    elif rows_of_k and size[0] > BOX:
        counts = {filling, filling // 2}
    for parts in sorted(counts - {0}):
        ways = BLOCK_WARPS if rows_of_k else min(parts, BLOCK_WARPS)
        yield ways, parts if rows_of_k else parts // ways


def _power(number: float) -> int:
    """Return the smallest power of two that is not below a number, at least 1."""
    return 1 << max(0, math.ceil(math.log2(number)))
