"""Evaluate a polynomial of fp32 words; the specimen's accumulator is a double.

Work: 32 million fp32 words, a polynomial of degree 256, two words a thread, a result in fp32.

Gives it away: the fp64 pipe is the busiest, above 75 %, in a kernel that loads and stores
fp32.
Quiet: the conversions are two a word, so the xu pipe is idle; issue slots are half empty; memory
is idle; nothing diverges.

Healthy: the accumulator is a float, at twice the rate on this GPU. It is at the bound of fp32
arithmetic then; the difference is far below the precision of the stored result.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, EACH, DEGREE = 256, 2, 256
COEFFICIENT = 0.25


def inputs(device: str, words: int) -> Inputs:
    """Return words in [-0.9, 0.9)."""
    return {"words": 1.8 * torch.rand(words, device=device) - 0.9}


def evaluated(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    words = inputs["words"]
    result = blank(words.numel(), like=words)
    kernel = Kernel(SOURCE, twin, "polynomial")
    grid = (words.numel() // (EACH * THREADS),)
    return kernel.step(grid, (THREADS,), (words, result, COEFFICIENT), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the closed form of the geometric sum, in fp64."""
    words = inputs["words"].double()
    return COEFFICIENT * (1 - words ** (DEGREE + 1)) / (1 - words)


SPECIMEN = Specimen(
    inputs,
    evaluated,
    reference,
    tolerance=1e-5,
    sizes={"words": 1 << 25},
    small={"words": 1 << 10},
)
