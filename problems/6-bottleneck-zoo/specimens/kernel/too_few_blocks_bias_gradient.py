"""Sum a gradient over the batch, as for a bias; the specimen has one program for 64 columns.

Work: 65536 × 1024 fp32 words, tiles of 32 rows × 64 columns.

Gives it away: a grid of 16 programs on 132 SMs, 0.02 waves, SMs active an eighth of the time.
Quiet: loads are coalesced; programs have equal work; DRAM, L2 and arithmetic are nearly idle on
the whole GPU; atomics are 1024 a launch.

Healthy: the rows are split in 64 parts, and each program adds its sums to the column's.
"""

import torch
from cuda_kernel import clear
from optional_triton import tl, triton
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

PARTS = {"sick": 1, "healthy": 64}
TILE = {"height": 32, "width": 64}


@triton.jit
def bias_gradient(gradient, sums, columns, rows, height: tl.constexpr, width: tl.constexpr):  # noqa: ANN001, ANN201
    """Add ``rows`` rows of some columns to the sums, which start at zero."""
    column = tl.program_id(0) * width + tl.arange(0, width)
    row = tl.program_id(1) * rows + tl.arange(0, height)
    at = gradient + row[:, None] * columns + column[None, :]
    total = tl.zeros((height, width), dtype=tl.float32)
    for _ in range(0, rows, height):
        total += tl.load(at)
        at += height * columns
    tl.atomic_add(sums + column, tl.sum(total, axis=0), sem="relaxed")


def inputs(device: str, rows: int, columns: int) -> Inputs:
    """Return positive words, so that no sum cancels."""
    return {"gradient": torch.rand(rows, columns, device=device)}


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of a memset and one launch."""
    gradient = inputs["gradient"]
    rows, columns = gradient.shape
    result = blank(columns, like=gradient)
    grid = (columns // TILE["width"], PARTS[twin])

    def step() -> Tensor:
        clear(result)
        bias_gradient[grid](gradient, result, columns, rows // PARTS[twin], **TILE, num_warps=8)
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the columns' sums in fp64."""
    return inputs["gradient"].sum(0, dtype=torch.float64)


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=1e-4,
    sizes={"rows": 65536, "columns": 1024},
    small={"rows": 64, "columns": 16},
)
