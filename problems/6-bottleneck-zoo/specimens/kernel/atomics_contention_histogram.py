"""Count keys; the specimen adds each key to 64 counters in global memory.

Work: 67 million keys below 64, four a load.

Gives it away: one global reduction a key, all to 8 sectors of L2; the atomic units of the few L2
slices that hold them set the time, and warps wait for the queue of memory instructions (LG
throttle).
Quiet: keys are read coalesced, DRAM and issue slots are nearly idle, occupancy is full.

Healthy: each block counts in shared memory and adds its 64 counts once, at its end. DRAM is near
its ceiling.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, BLOCKS_PER_SM, KEYS = 256, 8, 64


def inputs(device: str, count: int) -> Inputs:
    """Return random keys."""
    return {"keys": torch.randint(KEYS, (count,), dtype=torch.int32, device=device)}


def counted(twin: str, inputs: Inputs) -> Step:
    """Return a step of a memset and one launch."""
    keys = inputs["keys"]
    result = blank(KEYS, like=keys)
    kernel = Kernel(SOURCE, twin, "histogram")
    grid = (BLOCKS_PER_SM * multiprocessors(keys),)
    return kernel.step(grid, (THREADS,), (keys, result, keys.numel() // 4), result, cleared=True)


def reference(inputs: Inputs) -> Tensor:
    """Return torch's counts."""
    return torch.bincount(inputs["keys"], minlength=KEYS)


SPECIMEN = Specimen(
    inputs,
    counted,
    reference,
    tolerance=0,
    sizes={"count": 1 << 26},
    small={"count": 1 << 10},
)
