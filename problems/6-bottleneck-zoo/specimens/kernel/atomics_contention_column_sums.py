"""Sum the columns of a matrix; the sick twin adds every word to its column in global memory.

Work: 32768 × 1024 fp32 words, a program a row.

Gives it away: one floating-point reduction a word, all to 128 sectors of L2, whose atomic units
set the time.
Quiet: the matrix is read coalesced and once; DRAM and arithmetic are nearly idle; there are
thousands of programs.

Healthy: a program sums 32 rows in registers and adds its 1024 sums once: a 32nd of the reductions.
"""

import torch
from cuda_kernel import clear
from optional_triton import tl, triton
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

ROWS = {"sick": 1, "healthy": 32}


@triton.jit
def column_sums(matrix, sums, rows, tile_columns: tl.constexpr):  # noqa: ANN001, ANN201
    """Add ``rows`` rows to the sums, which start at zero."""
    column = tl.arange(0, tile_columns)
    at = matrix + tl.program_id(0) * rows * tile_columns + column
    total = tl.zeros((tile_columns,), dtype=tl.float32)
    for _ in range(rows):
        total += tl.load(at)
        at += tile_columns
    tl.atomic_add(sums + column, total, sem="relaxed")


def inputs(device: str, rows: int, columns: int) -> Inputs:
    """Return positive words, so that no sum cancels."""
    return {"matrix": torch.rand(rows, columns, device=device)}


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of a memset and one launch."""
    matrix = inputs["matrix"]
    rows, columns = matrix.shape
    result = blank(columns, like=matrix)

    def step() -> Tensor:
        clear(result)
        column_sums[(rows // ROWS[twin],)](
            matrix, result, ROWS[twin], tile_columns=columns, num_warps=8
        )
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
    sizes={"rows": 32768, "columns": 1024},
    small={"rows": 64, "columns": 16},
)
