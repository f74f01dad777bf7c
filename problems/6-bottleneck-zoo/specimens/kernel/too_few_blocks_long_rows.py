"""Sum eight long rows; the specimen has one block per row.

Work: 8 rows of 8 million fp32 words, 16 bytes a load.

Gives it away: a grid of 8 blocks on 132 SMs: 0.03 waves, and SMs active 6 % of the time, while the
eight that work are busy with memory.
Quiet: loads are coalesced and many are in flight; threads of a block have equal work; no unit is
near its ceiling on the whole GPU.

Healthy: 128 blocks a row, each with an equal piece, which add their sums to the row's.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, WORDS, PIECES = 1024, 4, 128


def inputs(device: str, rows: int, width: int) -> Inputs:
    """Return rows of positive words, each a multiple of 128 × 4."""
    return {"rows": torch.rand(rows, width, device=device)}


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of a memset and one launch."""
    rows = inputs["rows"]
    count, width = rows.shape
    result = blank(count, like=rows)
    grid = (1 if twin == "sick" else PIECES, count)
    kernel = Kernel(SOURCE, twin, "row_sums")
    return kernel.step(grid, (THREADS,), (rows, result, width // WORDS), result, cleared=True)


def reference(inputs: Inputs) -> Tensor:
    """Return the rows' sums in fp64."""
    return inputs["rows"].sum(1, dtype=torch.float64)


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=1e-4,
    sizes={"rows": 8, "width": 1 << 23},
    small={"rows": 8, "width": 1 << 9},
)
