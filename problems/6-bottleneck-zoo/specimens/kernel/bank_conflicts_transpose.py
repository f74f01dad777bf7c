"""Transpose a matrix through shared memory; the specimen reads its tile along a column of banks.

Work: 16384 × 4096 fp32 words in tiles of 32 × 32, loads and stores both coalesced.

Gives it away: 32 wavefronts a request of shared loads where 1 is ideal; nearly all wavefronts of
shared memory are bank conflicts, and the pipe that moves them is the busiest unit.
Quiet: 4 sectors a request of global loads and stores (not uncoalesced); DRAM bytes are the ideal
ones; stores into the tile have no conflicts.

Healthy: the tile's rows are a word longer, so that a column lies in 32 different banks.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
TILE, ROWS = 32, 8


def inputs(device: str, height: int, width: int) -> Inputs:
    """Return a matrix whose sides are multiples of the tile."""
    return {"matrix": torch.randn(height, width, device=device)}


def transposed(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    matrix = inputs["matrix"]
    height, width = matrix.shape
    result = blank(width, height, like=matrix)
    kernel = Kernel(SOURCE, twin, "transpose_by_tiles")
    grid = (width // TILE, height // TILE)
    return kernel.step(grid, (TILE, ROWS), (matrix, result, height, width), result)


def reference(inputs: Inputs) -> Tensor:
    """Return torch's transpose."""
    return inputs["matrix"].t()


SPECIMEN = Specimen(
    inputs,
    transposed,
    reference,
    tolerance=0,
    sizes={"height": 16384, "width": 4096},
    small={"height": 64, "width": 32},
)
