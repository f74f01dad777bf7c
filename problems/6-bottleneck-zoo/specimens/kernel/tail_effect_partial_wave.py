"""Iterate a formula; the sick twin's grid is eight blocks more than a wave.

Work: elements of 4096 dependent multiply-adds, sixteen for each thread of one wave and of eight
blocks more. Blocks of 1024 threads, two an SM.

Gives it away: 1.03 waves, so that the last eight blocks run alone on eight SMs: SMs are active
about two thirds of the time, and the busiest cycles are far above the mean.
Quiet: memory is idle; warps that run issue at a good rate, occupancy is full in the first wave;
all blocks have equal work.

Healthy: an element a thread, so sixteen times as many blocks of a sixteenth of the work: the last
wave is a sixteenth of the time.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, BLOCKS_PER_SM, EXTRA, EACH, STEPS = 1024, 2, 8, 16, 4096
FACTOR, ADDED = 1 - 2**-10, 2**-9


def inputs(device: str, steps: int) -> Inputs:
    """Return sixteen values for each thread of a wave and eight blocks."""
    blocks = BLOCKS_PER_SM * multiprocessors(torch.empty(0, device=device)) + EXTRA
    values = torch.rand(blocks * THREADS * EACH, device=device)
    return {"values": values, "steps": torch.tensor(steps)}


def iterated(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    values = inputs["values"]
    each = EACH if twin == "sick" else 1
    result = blank(values.numel(), like=values)
    kernel = Kernel(SOURCE, twin, "iterate")
    arguments = (values, result, each, int(inputs["steps"]), FACTOR, ADDED)
    grid = (values.numel() // (THREADS * each),)
    return kernel.step(grid, (THREADS,), arguments, result)


def reference(inputs: Inputs) -> Tensor:
    """Return the closed form of the recurrence, in fp64."""
    power = FACTOR ** int(inputs["steps"])
    return power * inputs["values"].double() + ADDED * (1 - power) / (1 - FACTOR)


SPECIMEN = Specimen(
    inputs,
    iterated,
    reference,
    tolerance=1e-4,
    sizes={"steps": STEPS},
    small={"steps": 16},
)
