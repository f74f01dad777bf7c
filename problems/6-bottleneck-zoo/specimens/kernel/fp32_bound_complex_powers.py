"""Evaluate a real polynomial at complex points; the specimen multiplies out every power.

Work: 33 million complex fp32 points within a circle of radius 0.9, a polynomial of degree 256.

Gives it away: the fma pipe above 85 % with fp32 instructions (and so the issue slots): per
coefficient four to make the next power, two to add it.
Quiet: nothing but fp32 arithmetic runs: alu, xu, fp64 and tensor pipes are idle; a point is read
and written once; nothing diverges; occupancy is full.

Healthy: dividing by the real factor (x - z)(x - conj z) takes two multiply-adds a coefficient
(Knuth, "The Art of Computer Programming", volume 2, 4.6.4). The same pipe is as busy, for a third
of the time.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, DEGREE, RADIUS = 256, 256, 0.9
COEFFICIENT = 0.25


def inputs(device: str, points: int) -> Inputs:
    """Return points as pairs of a real and an imaginary part."""
    size = RADIUS * torch.rand(points, device=device)
    return {"points": torch.view_as_real(torch.polar(size, 7 * torch.rand_like(size)))}


def evaluated(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    points = inputs["points"]
    result = blank(*points.shape, like=points)
    kernel = Kernel(SOURCE, twin, "polynomial")
    grid = (len(points) // THREADS,)
    return kernel.step(grid, (THREADS,), (points, result, COEFFICIENT), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the closed form of the geometric sum, in fp64."""
    points = torch.view_as_complex(inputs["points"].double())
    return torch.view_as_real(COEFFICIENT * (1 - points ** (DEGREE + 1)) / (1 - points))


SPECIMEN = Specimen(
    inputs,
    evaluated,
    reference,
    tolerance=1e-5,
    sizes={"points": 1 << 25},
    small={"points": 1 << 10},
)
