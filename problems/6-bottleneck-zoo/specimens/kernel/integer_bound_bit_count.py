"""Distances in bits to eight code words; the specimen counts bits one by one.

Work: 33 million 32-bit words; for each the sum of differing bits over eight code words.

Gives it away: the alu pipe, which shifts, masks and adds integers, above 90 %, and nearly every
instruction of the kernel runs on it; no fp32 instruction.
Quiet: words are read once and coalesced; DRAM is nearly idle; lanes are all active; occupancy is
full.

Healthy: `__popc`, one instruction for a word's bits.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, CODES, CODE = 256, 8, 0x9E3779B9


def inputs(device: str, count: int) -> Inputs:
    """Return random words."""
    words = torch.randint(-(1 << 31), 1 << 31, (count,), device=device)
    return {"words": words.int()}


def distances(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    words = inputs["words"]
    result = blank(words.numel(), like=words)
    kernel = Kernel(SOURCE, twin, "bit_distances")
    return kernel.step((words.numel() // THREADS,), (THREADS,), (words, result), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the distances, bit by bit in torch."""
    words = inputs["words"].long() & 0xFFFFFFFF
    total = torch.zeros_like(words)
    for code in range(1, CODES + 1):
        differing = words ^ (code * CODE & 0xFFFFFFFF)
        for bit in range(32):
            total += differing >> bit & 1
    return total


SPECIMEN = Specimen(
    inputs,
    distances,
    reference,
    tolerance=0,
    sizes={"count": 1 << 25},
    small={"count": 1 << 10},
)
