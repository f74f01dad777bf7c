"""Prefix sums of short rows, one thread per row; in the specimen rows share a bank.

Work: 2 million rows of 32 words. A block stages 128 rows, each thread adds up its own, and the
block writes them back.

Gives it away: 32 wavefronts a request of shared loads and stores where 1 is ideal; they are the
busiest unit, and warps wait for it (MIO and short scoreboard).
Quiet: global loads and stores are coalesced; all lanes work (no divergence); DRAM is far from its
ceiling.

Healthy: column k of row r is stored at k XOR r, so that a warp's 32 words lie in 32 banks. No byte
more of shared memory, and DRAM sets the time.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
ROWS, COLUMNS = 128, 32


def inputs(device: str, rows: int) -> Inputs:
    """Return rows of 32 positive words; their number is a multiple of 128."""
    return {"rows": torch.rand(rows, COLUMNS, device=device)}


def scanned(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    rows = inputs["rows"]
    result = blank(*rows.shape, like=rows)
    kernel = Kernel(SOURCE, twin, "row_scan")
    return kernel.step((rows.shape[0] // ROWS,), (ROWS,), (rows, result), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the running sums of each row."""
    return inputs["rows"].cumsum(1)


SPECIMEN = Specimen(
    inputs,
    scanned,
    reference,
    tolerance=1e-6,
    sizes={"rows": 1 << 21},
    small={"rows": 256},
)
