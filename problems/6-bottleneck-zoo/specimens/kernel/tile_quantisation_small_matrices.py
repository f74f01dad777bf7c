"""Take inverse roots of matrices of 72 rows; the specimen's tiles of 64 rows cover 128.

Work: 8192 fp32 matrices of 72 × 64; of each element 1 / √x by 32 steps of Newton's method, 4 × 4
elements a thread.

Gives it away: 44 % of the warps' loads have no thread left, since their rows lie beyond the
matrix, and the same warps compute on padding: two tiles compute 8192 elements where 4608 exist.
Quiet: the arithmetic has no divergence (padding is ones that are iterated like others); thousands
of blocks make many waves (no tail); loads are coalesced, DRAM reads each matrix once.

Healthy: one tile of 72 rows, 16 × 18 threads. Both twins are bound by fp32 arithmetic.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
ROWS, COLUMNS, EACH = 72, 64, 4


def inputs(device: str, count: int) -> Inputs:
    """Return matrices of elements from 0.5 to 1.5, where the method converges from 1."""
    return {"matrices": 0.5 + torch.rand(count, ROWS, COLUMNS, device=device)}


def inverted(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch: two blocks a matrix (sick) or one."""
    matrices = inputs["matrices"]
    tile = 64 if twin == "sick" else ROWS
    result = blank(*matrices.shape, like=matrices)
    kernel = Kernel(SOURCE, twin, "inverse_roots")
    grid = (-(-ROWS // tile), matrices.shape[0])
    return kernel.step(grid, (COLUMNS // EACH, tile // EACH), (matrices, result), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the inverse roots, in fp64."""
    return inputs["matrices"].double().rsqrt()


SPECIMEN = Specimen(
    inputs,
    inverted,
    reference,
    tolerance=1e-5,
    sizes={"count": 8192},
    small={"count": 2},
)
