"""Iterate a formula; the specimen's grid is eight blocks more than a wave.

Work: elements of 2048 dependent multiply-adds, 32 for each thread of a wave and of eight blocks
more. Blocks of 1024 threads; in the specimen a thread holds its 32 elements in registers, so that
one block fits on an SM.

Gives it away: 1.06 waves: the last eight blocks run alone on eight SMs for as long as the whole
first wave took, so the average SM's active cycles are about half of the busiest one's.
Quiet: memory is idle; SMs that have a block issue multiply-adds in nearly every cycle; all blocks
have equal work.

Healthy: an element a thread, so 32 times as many blocks of a 32nd of the work, 34 a multiprocessor
one after the other: they end within a block's time of each other.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, EXTRA, EACH, STEPS = 1024, 8, 32, 2048
FACTOR, ADDED = 1 - 2**-10, 2**-9


def inputs(device: str, steps: int) -> Inputs:
    """Return 32 values for each thread of a wave and eight blocks."""
    blocks = multiprocessors(torch.empty(0, device=device)) + EXTRA
    values = torch.rand(blocks * THREADS * EACH, device=device)
    return {"values": values, "steps": torch.tensor(steps)}


def iterated(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    values = inputs["values"]
    each = EACH if twin == "sick" else 1
    result = blank(values.numel(), like=values)
    kernel = Kernel(SOURCE, twin, "iterate")
    arguments = (values, result, int(inputs["steps"]), FACTOR, ADDED)
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
