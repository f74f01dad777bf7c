"""Sum numbers and their squares; the specimen reads the numbers once for each.

Work: half a GB of fp32 words, summed by 8 blocks of 256 threads an SM, 16 bytes a load.

Gives it away: DRAM throughput at the measured ceiling in both launches, and half of the step's
DRAM bytes are read a second time.
Quiet: loads are coalesced and used once a launch (no excess sectors, nothing to hit in a cache),
the grid is one full wave, arithmetic and issue slots are idle.

Healthy: one launch computes both sums from one read. It is at the DRAM ceiling too, with half the
bytes, so the gain is 2.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, in_turn, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, BLOCKS_PER_SM, WORDS = 256, 8, 4


def inputs(device: str, passes: int) -> Inputs:
    """Return positive numbers, so that no sum cancels: ``passes`` loads for each thread."""
    blocks = BLOCKS_PER_SM * multiprocessors(torch.empty(0, device=device))
    return {"numbers": torch.rand(passes, blocks, THREADS * WORDS, device=device)}


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of two launches (sick) or one; its result is two sums a block."""
    numbers = inputs["numbers"]
    blocks, count = numbers.shape[1], numbers.numel() // WORDS
    sums = blank(2, blocks, like=numbers)

    def launch(name: str) -> Step:
        kernel = Kernel(SOURCE, twin, name)
        return kernel.step((blocks,), (THREADS,), (numbers, sums, count), sums)

    if twin == "sick":
        return in_turn([launch("sum"), launch("sum_of_squares")], sums)
    return launch("both_sums")


def reference(inputs: Inputs) -> Tensor:
    """Return each block's sums, in fp64."""
    numbers = inputs["numbers"]
    plain = numbers.sum((0, 2), dtype=torch.float64)
    squares = (numbers * numbers).sum((0, 2), dtype=torch.float64)
    return torch.stack([plain, squares])


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=1e-5,
    sizes={"passes": 120},
    small={"passes": 2},
)
