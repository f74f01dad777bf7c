"""Sum the 32 columns of a tall matrix; the specimen adds every word to its column in memory.

Work: 2 million rows of 32 fp32 words.

Gives it away: one floating-point reduction a word, all to the four sectors of one line, so that one
L2 slice sets the time while the others idle, and warps wait at the reduction.
Quiet: the matrix is read coalesced and once; DRAM and arithmetic are nearly idle; there are
thousands of programs.

Healthy: a program sums 1024 rows in registers and adds its 32 sums once: a 1024th of the
reductions, and DRAM sets the time.
"""

import torch
from cuda_kernel import clear
from optional_triton import tl, triton
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

COLUMNS, TILE_ROWS, TILES = 32, 256, 4
"""A tile has 256 rows; a program of the healthy twin sums up four of them."""


@triton.jit
def add_words(matrix, sums, columns: tl.constexpr, tile_rows: tl.constexpr):  # noqa: ANN001, ANN201
    """Add each word of a tile to its column's sum, which starts at zero."""
    row = tl.program_id(0) * tile_rows + tl.arange(0, tile_rows)
    column = tl.arange(0, columns)
    words = tl.load(matrix + row[:, None] * columns + column[None, :])
    to = tl.broadcast_to(sums + column[None, :], (tile_rows, columns))
    tl.atomic_add(to, words, sem="relaxed")


@triton.jit
def add_tiles(  # noqa: ANN201
    matrix,  # noqa: ANN001
    sums,  # noqa: ANN001
    tiles,  # noqa: ANN001
    columns: tl.constexpr,
    tile_rows: tl.constexpr,
):
    """Add up a program's tiles in registers, and the sums to the columns', which start at zero."""
    row = tl.program_id(0) * tiles * tile_rows + tl.arange(0, tile_rows)
    column = tl.arange(0, columns)
    at = matrix + row[:, None] * columns + column[None, :]
    total = tl.zeros((tile_rows, columns), dtype=tl.float32)
    for _ in range(tiles):
        total += tl.load(at)
        at += tile_rows * columns
    tl.atomic_add(sums + column, tl.sum(total, axis=0), sem="relaxed")


def inputs(device: str, rows: int) -> Inputs:
    """Return positive words, so that no sum cancels; 1024 divides the rows."""
    return {"matrix": torch.rand(rows, COLUMNS, device=device)}


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of a memset and one launch."""
    matrix = inputs["matrix"]
    tiles = len(matrix) // TILE_ROWS
    result = blank(COLUMNS, like=matrix)
    tile = {"columns": COLUMNS, "tile_rows": TILE_ROWS, "num_warps": 8}

    def step() -> Tensor:
        clear(result)
        if twin == "sick":
            add_words[(tiles,)](matrix, result, **tile)
        else:
            add_tiles[(tiles // TILES,)](matrix, result, TILES, **tile)
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the columns' sums in fp64."""
    return inputs["matrix"].sum(0, dtype=torch.float64)


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=1e-3,
    sizes={"rows": 1 << 21},
    small={"rows": 1 << 10},
)
