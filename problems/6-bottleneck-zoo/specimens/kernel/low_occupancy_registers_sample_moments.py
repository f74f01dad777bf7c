"""Third central moments along random walks; the specimen keeps all samples in registers.

Work: 33792 walks of 48 hops through 830 MB of rows of 128 words; a warp follows one walk, each
lane four columns. The next row's number has to arrive before the next hop. Walks visit each row
once, so that no cache has it yet.

Gives it away: about 200 registers a thread, which limit occupancy to 8 of 64 warps, while warps
wait for memory (long scoreboard) and no unit is busy.
Quiet: no spills; rows are read coalesced; the grid is many waves; shared memory is unused.

Healthy: running sums of the first three powers, so 32 registers and full occupancy: eight
times the warps keep DRAM busy.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, HOPS, WIDTH = 128, 48, 128


def inputs(device: str, walks: int) -> Inputs:
    """Return rows of samples, the row after each, and where each walk starts."""
    visited = torch.randperm(walks * HOPS, device=device).int()
    after = torch.empty_like(visited)
    after[visited] = visited.roll(-1)
    starts = visited[::HOPS].contiguous()
    samples = torch.randn(len(visited), WIDTH, device=device)
    return {"samples": samples, "after": after, "starts": starts}


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
    sizes={"walks": 33792},
    small={"walks": 8},
)
