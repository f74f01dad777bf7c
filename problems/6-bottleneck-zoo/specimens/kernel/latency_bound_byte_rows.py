"""Sum rows of bytes, one warp per row; the specimen's threads load one byte at a time.

Work: 33792 rows of 8 KB, 277 MB in all.

Gives it away: warps wait for one load (long scoreboard above 90 % of stalls, hundreds of cycles an
instruction), while occupancy is full and no unit, DRAM among them, is busy.
Quiet: a warp's 32 bytes are one whole sector (nothing excess); enough blocks and warps; no barrier,
no atomics; registers and shared memory limit nothing.

Healthy: four loads of 16 bytes a thread in flight, 64 times the bytes, and DRAM sets the time.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, WARPS_PER_SM = 256, 64


def inputs(device: str, waves: int, length: int) -> Inputs:
    """Return rows of random bytes: in a wave, one for each warp that the GPU holds at once."""
    rows = waves * WARPS_PER_SM * multiprocessors(torch.empty(0, device=device))
    return {"bytes": torch.randint(256, (rows, length), dtype=torch.uint8, device=device)}


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    content = inputs["bytes"]
    rows, length = content.shape
    result = blank(rows, like=content, dtype=torch.int32)
    kernel = Kernel(SOURCE, twin, "row_sums")
    return kernel.step((rows * 32 // THREADS,), (THREADS,), (content, result, length), result)


def reference(inputs: Inputs) -> Tensor:
    """Return torch's sums of the rows."""
    return inputs["bytes"].sum(1, dtype=torch.int32)


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=0,
    sizes={"waves": 4, "length": 1 << 13},
    small={"waves": 1, "length": 1 << 11},
)
