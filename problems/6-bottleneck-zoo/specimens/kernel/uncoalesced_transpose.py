"""Transpose a matrix; the specimen's stores are a whole row apart.

Work: 8192 × 8192 fp32 words, each read once and written once. Block of 32 × 8 threads a tile of 32
× 32.

Gives it away: 32 sectors a request of global stores where 4 are ideal, so seven of eight sectors
between L1 and L2 are excess; L2 is busier than DRAM. Loads are ideal.
Quiet: no shared memory (no bank conflicts); each word is used once, and the tile's partial sectors
meet in L2 before they leave it (DRAM bytes are the ideal ones, no thrashing).

Healthy: the tile passes through shared memory, padded by a word a row, so that stores are
coalesced as well.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
TILE, ROWS = 32, 8


def inputs(device: str, side: int) -> Inputs:
    """Return a square matrix; ``side`` is a multiple of the tile."""
    return {"matrix": torch.randn(side, side, device=device)}


def transposed(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    matrix = inputs["matrix"]
    side = matrix.shape[0]
    result = blank(side, side, like=matrix)
    grid = (side // TILE, side // TILE)
    kernel = Kernel(SOURCE, twin, "transpose")
    return kernel.step(grid, (TILE, ROWS), (matrix, result, side), result)


def reference(inputs: Inputs) -> Tensor:
    """Return torch's transpose."""
    return inputs["matrix"].t()


SPECIMEN = Specimen(
    inputs,
    transposed,
    reference,
    tolerance=0,
    sizes={"side": 8192},
    small={"side": 64},
)
