"""Iterate items different numbers of times; in the specimen every warp waits for its longest item.

Work: 32 million items, 1024 a block; one of sixteen, at random, takes 512 steps, the others 16.

Gives it away: few threads active per instruction (4 or 5 of 32): the others have finished their
item and wait for a lane with a long one.
Quiet: the loop has one path only; loads and stores are coalesced; warps wait for arithmetic, not
for memory; there is no barrier that warps wait at.

Healthy: the block first sorts its items, short ones to the front and long ones to the back, in
shared memory, so that a warp's items are of one length.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, ITEMS = 256, 1024
SHORT, LONG = 16, 512
FACTOR, ADDED = 0.99, 0.02


def inputs(device: str, items: int) -> Inputs:
    """Return values and the steps of each; the number of items is a multiple of 1024."""
    long = torch.rand(items, device=device) < 1 / 16
    steps = torch.full((items,), SHORT, dtype=torch.int32, device=device)
    return {"values": torch.rand(items, device=device), "steps": steps.masked_fill(long, LONG)}


def iterated(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    values, steps = inputs["values"], inputs["steps"]
    result = blank(values.numel(), like=values)
    kernel = Kernel(SOURCE, twin, "iterate")
    arguments = (values, steps, result, FACTOR, ADDED)
    return kernel.step((values.numel() // ITEMS,), (THREADS,), arguments, result)


def reference(inputs: Inputs) -> Tensor:
    """Return the closed form of the recurrence, in fp64."""
    power = torch.pow(torch.tensor(FACTOR, dtype=torch.float64), inputs["steps"].double().cpu())
    power = power.to(inputs["values"].device)
    return power * inputs["values"] + ADDED * (1 - power) / (1 - FACTOR)


SPECIMEN = Specimen(
    inputs,
    iterated,
    reference,
    tolerance=1e-5,
    sizes={"items": 1 << 25},
    small={"items": 1 << 12},
)
