"""A stencil of nine words; the specimen stages tiles of 96 KB in shared memory.

Work: 67 million fp32 words, each the weighted sum of itself and four neighbours a side. A block of
256 threads stages a tile, two loads a thread at a time, waits, computes, and ends.

Gives it away: 98 KB of shared memory a block, which limits occupancy to two blocks, 16 of 64
warps, while warps wait for memory (long scoreboard) and DRAM is far from its ceiling.
Quiet: registers would allow full occupancy; loads are coalesced; shared reads have no conflicts;
the grid is ten waves.

Healthy: tiles of 8 KB. The same kernel, eight blocks an SM.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, RADIUS = 256, 4
TILES = {"sick": 24576, "healthy": 2048}


def inputs(device: str, tiles: int) -> Inputs:
    """Return ``tiles`` large tiles of words and four more at either end."""
    return {"words": torch.randn(tiles * TILES["sick"] + 2 * RADIUS, device=device)}


def filtered(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    words, tile = inputs["words"], TILES[twin]
    count = words.numel() - 2 * RADIUS
    result = blank(count, like=words)
    kernel = Kernel(SOURCE, twin, "stencil")
    shared_bytes = (tile + 2 * RADIUS) * words.element_size()
    return kernel.step(
        (count // tile,), (THREADS,), (words, result), result, shared_bytes=shared_bytes
    )


def reference(inputs: Inputs) -> Tensor:
    """Return the weighted sums: a neighbour at distance d weighs 1 / (1 + d)."""
    words = inputs["words"]
    count = words.numel() - 2 * RADIUS
    total = torch.zeros_like(words[:count])
    for shift in range(2 * RADIUS + 1):
        total += words[shift : shift + count] / (1 + abs(shift - RADIUS))
    return total


SPECIMEN = Specimen(
    inputs,
    filtered,
    reference,
    tolerance=1e-5,
    sizes={"tiles": 2730},
    small={"tiles": 1},
)
