"""Add up a vector 8 times; the specimen's kernel is one block.

Work: 8 sums of 67,108,864 words of 4 bytes, 256 MiB.

Gives it away: the grid that runs nearly all the time has one block, which one multiprocessor takes;
all others are idle.
Quiet: the GPU is never idle, and the host is far ahead; there is one stream, so nothing waits for
another.

Healthy: the same kernel with four blocks a multiprocessor.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, in_turn, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
SUMS = 8
THREADS = 512
VECTOR = 4
"""Words that a thread loads at once."""
BLOCKS = 4
"""Of a multiprocessor: as many as its 2,048 threads make."""


def inputs(device: str, words: int) -> Inputs:
    """Return the vector; ``words`` is a multiple of what a thread loads at once."""
    return {"words": torch.randint(-8, 8, (words,), dtype=torch.int32, device=device)}


def totals(twin: str, inputs: Inputs) -> Step:
    """Return a step of 8 sums."""
    words = inputs["words"]
    total = blank(1, like=words)
    blocks = 1 if twin == "sick" else BLOCKS * multiprocessors(words)
    kernel = Kernel(SOURCE, twin, "add_all")
    arguments = (words, total, words.numel() // VECTOR)
    add = kernel.step((blocks,), (THREADS,), arguments, total, cleared=True)
    return in_turn([add] * SUMS, total)


def reference(inputs: Inputs) -> Tensor:
    """Return torch's sum."""
    return inputs["words"].sum(0, keepdim=True, dtype=torch.int32)


SPECIMEN = Specimen(
    inputs, totals, reference, tolerance=0, sizes={"words": 1 << 26}, small={"words": 1 << 10}
)
