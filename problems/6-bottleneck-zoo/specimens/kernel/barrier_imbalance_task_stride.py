"""Tasks of unequal cost between barriers; in the specimen one warp of sixteen has all costly ones.

Work: a block of 16 warps has 256 tasks of 32 words and takes 16 steps; in a step every sixteenth
task iterates 1024 times, the others 32 times, then the block subtracts its mean.

Gives it away: barrier stalls are most of all stalls, and executed instructions differ by warp.
Quiet: all lanes of a task have equal work (no divergence); occupancy is full; memory is idle; the
grid is four full waves.

Healthy: tasks are dealt in rotation, one costly task a warp.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, TASKS, LANES, STEPS = 512, 256, 32, 16
COSTLY, CHEAP = 1024, 32
FACTOR, ADDED = 0.999, 0.002


def inputs(device: str, blocks_per_sm: int) -> Inputs:
    """Return 256 tasks of 32 words for each block."""
    blocks = blocks_per_sm * multiprocessors(torch.empty(0, device=device))
    return {"words": torch.rand(blocks, TASKS, LANES, device=device)}


def stepped(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    words = inputs["words"]
    result = blank(*words.shape, like=words)
    kernel = Kernel(SOURCE, twin, "steps")
    arguments = (words, result, FACTOR, ADDED)
    return kernel.step((words.shape[0],), (THREADS,), arguments, result)


def reference(inputs: Inputs) -> Tensor:
    """Return the closed form of each step's recurrence less the block's mean, in fp64."""
    words = inputs["words"].double()
    cost = torch.full((TASKS, 1), CHEAP, dtype=torch.float64)
    cost[::16] = COSTLY
    power = (FACTOR**cost).to(words.device)
    for _ in range(STEPS):
        words = power * words + ADDED * (1 - power) / (1 - FACTOR)
        words = words - words.mean((1, 2), keepdim=True)
    return words


SPECIMEN = Specimen(
    inputs,
    stepped,
    reference,
    tolerance=1e-4,
    sizes={"blocks_per_sm": 16},
    small={"blocks_per_sm": 1},
)
