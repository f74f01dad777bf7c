"""Filter the columns of an image from a staged tile; the specimen reads 65 words per result.

Work: 8192 × 8192 fp32 results, each the weighted sum of 65 words of its column. A block stages 192
rows of 32 columns and computes 128 rows of results.

Gives it away: the pipe that reads shared memory above 90 % (one wavefront a cycle), with one
wavefront a request: no conflicts.
Quiet: the fma pipe is at a quarter; DRAM is far from its ceiling; loads are coalesced; occupancy
is full.

Healthy: a thread computes sixteen neighbouring results at once, so each word it reads serves
sixteen: 5 words per result. Issue slots and the fma pipe are the busiest then.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
COLUMNS, ROWS, LINES, TAPS = 32, 8, 128, 65


def inputs(device: str, height: int, width: int) -> Inputs:
    """Return an image with 64 rows more than results."""
    return {"image": torch.randn(height + TAPS - 1, width, device=device)}


def filtered(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    image = inputs["image"]
    height, width = image.shape[0] - TAPS + 1, image.shape[1]
    result = blank(height, width, like=image)
    kernel = Kernel(SOURCE, twin, "vertical_filter")
    grid = (width // COLUMNS, height // LINES)
    return kernel.step(grid, (COLUMNS, ROWS), (image, result, width), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the weighted sums: a row at distance d from the middle weighs 1 / (1 + d)."""
    image = inputs["image"]
    height = image.shape[0] - TAPS + 1
    total = torch.zeros_like(image[:height])
    for tap in range(TAPS):
        total += image[tap : tap + height] / (1 + abs(tap - TAPS // 2))
    return total


SPECIMEN = Specimen(
    inputs,
    filtered,
    reference,
    tolerance=1e-5,
    sizes={"height": 8192, "width": 8192},
    small={"height": 128, "width": 64},
)
