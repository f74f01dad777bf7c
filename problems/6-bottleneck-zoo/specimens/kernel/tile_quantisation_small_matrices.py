"""Multiply many matrices of 72 × 72; the sick twin's tiles of 64 × 64 cover 128 × 128.

Work: 8192 fp32 products of 72 × 72 matrices, 4 × 4 results a thread, 8 columns a step.

Gives it away: four tiles compute 16384 elements where 5184 exist: 3.2 times the multiply-adds that
the work has. Threads that are off at the guarded loads and stores, not at the arithmetic.
Quiet: the arithmetic has no divergence (padding is zeros that are multiplied like others);
thousands of blocks make many waves (no tail); loads are coalesced, shared reads have no conflicts;
DRAM reads each matrix about once.

Healthy: one tile of 72 × 72 with 18 × 18 threads.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
SIDE = 72


def inputs(device: str, count: int) -> Inputs:
    """Return pairs of matrices."""
    return {name: torch.randn(count, SIDE, SIDE, device=device) for name in ("left", "right")}


def multiplied(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch: four blocks a product (sick) or one."""
    left, right = inputs["left"], inputs["right"]
    tile = 64 if twin == "sick" else SIDE
    tiles = -(-SIDE // tile)
    result = blank(*left.shape, like=left)
    kernel = Kernel(SOURCE, twin, "multiply")
    grid = (tiles, tiles, left.shape[0])
    return kernel.step(grid, (tile // 4, tile // 4), (left, right, result), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the products, in fp64."""
    return inputs["left"].double() @ inputs["right"].double()


SPECIMEN = Specimen(
    inputs,
    multiplied,
    reference,
    tolerance=1e-5,
    sizes={"count": 8192},
    small={"count": 2},
)
