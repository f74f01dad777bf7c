"""Third central moments along random walks; the sick twin keeps all samples in registers.

Work: 67584 walks of 80 hops through rows of 64 words; a warp follows one walk, each lane two
columns. The next row's number has to arrive before the next hop.

Gives it away: over 200 registers a thread, which limit occupancy to 8 of 64 warps, while warps
wait for memory (long scoreboard) and no unit is busy.
Quiet: no spills; rows are read coalesced; the grid is many waves; shared memory is unused.

Healthy: running sums of the first three powers, so under 32 registers and full occupancy.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, HOPS, WIDTH = 128, 80, 64


def inputs(device: str, walks: int, rows: int) -> Inputs:
    """Return rows of samples, the row after each, and where each walk starts."""
    return {
        "samples": torch.randn(rows, WIDTH, device=device),
        "after": torch.randperm(rows, device=device).int(),
        "starts": torch.randint(rows, (walks,), device=device).int(),
    }


def moments(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    samples, after, starts = inputs["samples"], inputs["after"], inputs["starts"]
    result = blank(starts.numel(), WIDTH, like=samples)
    kernel = Kernel(SOURCE, twin, "third_moments")
    grid = (starts.numel() // (THREADS // 32),)
    return kernel.step(grid, (THREADS,), (samples, after, starts, result), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the moments from raw power sums, in fp64."""
    row = inputs["starts"].long()
    sums = [torch.zeros(len(row), WIDTH, dtype=torch.float64, device=row.device) for _ in range(3)]
    for _ in range(HOPS):
        sample = inputs["samples"][row].double()
        for power, total in enumerate(sums, 1):
            total += sample**power
        row = inputs["after"][row].long()
    mean, second, third = (total / HOPS for total in sums)
    return third - 3 * mean * second + 2 * mean**3


SPECIMEN = Specimen(
    inputs,
    moments,
    reference,
    tolerance=1e-4,
    sizes={"walks": 67584, "rows": 1 << 16},
    small={"walks": 8, "rows": 64},
)
