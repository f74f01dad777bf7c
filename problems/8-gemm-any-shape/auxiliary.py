"""The kernels beside a product: copies of its operands, the sum of its parts."""

from ladder import BOX, HOPPER, Step

ALIGN_ROWS = Step(
    "align_rows",
    "copy to aligned rows",
    "TMA reads rows that begin at multiples of 16 bytes.",
    HOPPER,
    (4, 8, 1),
    threads=256,
    align=1,
    pdl=True,
)
"""The copy; its tile: 16-byte chunks of a thread, elements of a chunk."""

TRANSPOSE = Step(
    "transpose",
    "transposed copy",
    "TMA reads rows of a few elements slowly.",
    HOPPER,
    (BOX, BOX, 1),
    threads=256,
    align=1,
    pdl=True,
)
"""The transposed copy; its tile: rows of a block, columns at most."""

ADD_PARTS = Step(
    "add_parts",
    "sum of parts",
    "All multiprocessors add what the blocks that share tiles left.",
    HOPPER,
    (1, 4, 1),
    threads=256,
    align=1,
    pdl=True,
)
"""The sum; its tile: elements of a thread."""
