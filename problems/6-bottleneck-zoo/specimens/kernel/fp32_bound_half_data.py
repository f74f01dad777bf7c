"""Evaluate a polynomial of fp16 words; the sick twin computes in fp32.

Work: 67 million fp16 words, a polynomial of degree 256, two words a thread, a result in fp16.

Gives it away: the fma pipe above 90 % with fp32 instructions (and so the issue slots), between
loads and stores of fp16.
Quiet: nothing but multiply-adds runs: alu, xu, fp64 and tensor pipes are idle; memory is idle;
nothing diverges; occupancy is full.

Healthy: `__hfma2` multiplies and adds two fp16 words an instruction. The result keeps two to three
digits, as fp16 does.
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
    """Return words in [-0.5, 0.5)."""
    return {"words": (torch.rand(words, device=device) - 0.5).half()}


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
    tolerance=5e-3,
    sizes={"words": 1 << 26},
    small={"words": 1 << 10},
)
