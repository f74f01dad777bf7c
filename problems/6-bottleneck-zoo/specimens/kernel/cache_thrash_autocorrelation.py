"""Autocorrelate segments, a warp each; the sick twin sweeps its whole segment for each lag.

Work: segments of 5 KB, 16 lags, 64 warps an SM: together 320 KB, more than an L1 holds.

Gives it away: each warp reads the same 5 KB sixteen times, and L1 hits only where a load finds the
line of the load beside it (about half). L2's hit rate is near 100 %, its throughput the highest.
Quiet: a warp reads neighbouring words (4 or 5 sectors a request), DRAM bytes are those of one
read, occupancy is full.

Healthy: all lags of 512 bytes, then the next 512 bytes, so the working set is 64 warps × 0.6 KB.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, SEGMENT, LAGS = 256, 1280, 16


def inputs(device: str, rounds: int) -> Inputs:
    """Return segments for 64 warps an SM, ``rounds`` times; each ends in zeros for its lags."""
    count = rounds * 64 * multiprocessors(torch.empty(0, device=device))
    segments = torch.rand(count, SEGMENT, device=device)
    segments[:, -LAGS:] = 0
    return {"segments": segments}


def correlated(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    segments = inputs["segments"]
    result = blank(segments.shape[0], LAGS, like=segments)
    grid = (segments.shape[0] // (THREADS // 32),)
    kernel = Kernel(SOURCE, twin, "autocorrelation")
    return kernel.step(grid, (THREADS,), (segments, result), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the product sums of each lag, in fp64."""
    segments = inputs["segments"]
    words = SEGMENT - LAGS
    sums = [
        (segments[:, :words] * segments[:, lag : lag + words]).sum(1, dtype=torch.float64)
        for lag in range(LAGS)
    ]
    return torch.stack(sums, 1)


SPECIMEN = Specimen(
    inputs,
    correlated,
    reference,
    tolerance=1e-5,
    sizes={"rounds": 12},
    small={"rounds": 1},
)
