"""Iterate a formula whose constants could be folded; the specimen's issue slots are full.

Work: 32 million fp32 words, 256 steps of v = max(c (a v + b) + d, low), two words a thread.

Gives it away: an instruction issued in over 90 % of cycles, while each pipe has room (fma about
two thirds, alu about two thirds), and warps that could issue are not selected.
Quiet: memory is idle, all lanes are active, occupancy is full, nothing waits for long.

Healthy: (c a) v + (c b + d), two constants: two instructions a step instead of three. The compiler
may not reorder floating-point arithmetic, so it does not. The ALU pipe, which computes the maximum,
is at its ceiling then.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, EACH = 256, 2
A, B, C, D, LOW = 0.9, 0.05, 1.05, -0.02, 0.4


def inputs(device: str, words: int, steps: int) -> Inputs:
    """Return words in [0, 1)."""
    return {"words": torch.rand(words, device=device), "steps": torch.tensor(steps)}


def iterated(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    words = inputs["words"]
    result = blank(words.numel(), like=words)
    kernel = Kernel(SOURCE, twin, "iterate")
    arguments = (words, result, int(inputs["steps"]))
    return kernel.step((words.numel() // (EACH * THREADS),), (THREADS,), arguments, result)


def reference(inputs: Inputs) -> Tensor:
    """Return the iterated words."""
    words = inputs["words"].clone()
    for _ in range(int(inputs["steps"])):
        words.mul_(A).add_(B).mul_(C).add_(D).clamp_(min=LOW)
    return words


SPECIMEN = Specimen(
    inputs,
    iterated,
    reference,
    tolerance=1e-5,
    sizes={"words": 1 << 25, "steps": 256},
    small={"words": 1 << 10, "steps": 16},
)
