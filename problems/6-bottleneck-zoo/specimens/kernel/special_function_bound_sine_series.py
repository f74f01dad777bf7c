"""Evaluate a sine series; the specimen computes every sine by itself.

Work: 32 million fp32 angles; for each the sum of sin(k x) / k for k from 1 to 64.

Gives it away: the xu pipe (special functions, an eighth of a warp a cycle for each quarter of an
SM) above 90 %, and warps that wait for it (math pipe throttle).
Quiet: fma, alu and issue slots have room; memory is idle; all lanes are active.

Healthy: sin((k + 1) x) = 2 cos x sin(k x) - sin((k - 1) x): two special functions an angle instead
of 64, and one multiply-add a term.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, TERMS = 256, 64


def inputs(device: str, angles: int) -> Inputs:
    """Return angles from 0.5 to 2.5, where the recurrence is stable."""
    return {"angles": 0.5 + 2 * torch.rand(angles, device=device)}


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    angles = inputs["angles"]
    result = blank(angles.numel(), like=angles)
    kernel = Kernel(SOURCE, twin, "sine_series")
    return kernel.step((angles.numel() // THREADS,), (THREADS,), (angles, result), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the series, in fp64."""
    angles = inputs["angles"].double()
    total = torch.zeros_like(angles)
    for term in range(1, TERMS + 1):
        total += torch.sin(term * angles) / term
    return total


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=1e-3,
    sizes={"angles": 1 << 25},
    small={"angles": 1 << 10},
)
