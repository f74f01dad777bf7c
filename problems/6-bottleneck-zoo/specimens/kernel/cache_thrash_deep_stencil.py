"""A stencil across nine planes; the specimen reads all nine for each result.

Work: 32 planes of 2048 × 4096 fp32 results, each word the weighted sum of the words above and
below it in nine neighbouring planes of 32 MB.

Gives it away: DRAM is at its ceiling, and a launch reads 9 GB from it in a process that holds
under 3 GB: when the next plane of results asks for the same planes, 288 MB later, L2 has lost
them.
Quiet: loads and stores are coalesced, nine loads are in flight a thread; the grid is many waves;
occupancy is full; arithmetic is nearly idle.

Healthy: a thread walks through the planes of its column and keeps nine words in registers: each
word is read once. It is at the DRAM ceiling too.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, PLANES, RADIUS = 256, 32, 4


def inputs(device: str, words: int) -> Inputs:
    """Return 40 planes of ``words`` words, a multiple of 256."""
    return {"planes": torch.randn(PLANES + 2 * RADIUS, words, device=device)}


def filtered(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch: a thread a result (sick) or a column of results."""
    planes = inputs["planes"]
    words = planes.shape[1]
    result = blank(PLANES, words, like=planes)
    kernel = Kernel(SOURCE, twin, "deep_stencil")
    grid = (words // THREADS, PLANES if twin == "sick" else 1)
    return kernel.step(grid, (THREADS,), (planes, result, words), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the weighted sums: a plane at distance d weighs 1 / (1 + d)."""
    planes = inputs["planes"]
    total = torch.zeros_like(planes[:PLANES])
    for shift in range(2 * RADIUS + 1):
        total.add_(planes[shift : shift + PLANES], alpha=1 / (1 + abs(shift - RADIUS)))
    return total


SPECIMEN = Specimen(
    inputs,
    filtered,
    reference,
    tolerance=1e-5,
    sizes={"words": 1 << 23},
    small={"words": 256},
)
