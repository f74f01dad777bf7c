"""Sum distances of sixteen queries to all words; the specimen sweeps the words for each query.

Work: 512 MB of fp32 words, 5 blocks of 256 threads an SM, 16 bytes a load; a distance is |word -
query|.

Gives it away: DRAM is at its ceiling, and 8 GB are read from it in a launch of a process that
holds half a GB: L2 has lost the words when the next sweep asks for them.
Quiet: loads are coalesced and many are in flight; the grid is one wave; arithmetic is nearly idle.

Healthy: loops exchanged. A thread loads a word once for all sixteen queries, and arithmetic takes
about as long as DRAM.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, BLOCKS_PER_SM, WORDS, QUERIES = 256, 5, 4, 16


def inputs(device: str, passes: int) -> Inputs:
    """Return queries, and words: ``passes`` loads for each thread of a sweep."""
    blocks = BLOCKS_PER_SM * multiprocessors(torch.empty(0, device=device))
    return {
        "words": torch.rand(passes, blocks, THREADS * WORDS, device=device),
        "queries": torch.rand(QUERIES, device=device),
    }


def distances(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch; its result is a sum for each query and block."""
    words, queries = inputs["words"], inputs["queries"]
    blocks, count = words.shape[1], words.numel() // WORDS
    result = blank(QUERIES, blocks, like=words)
    kernel = Kernel(SOURCE, twin, "distances")
    return kernel.step((blocks,), (THREADS,), (words, queries, result, count), result)


def reference(inputs: Inputs) -> Tensor:
    """Return each block's sums, in fp64, a query at a time."""
    words = inputs["words"]
    sums = [(words - query).abs().sum((0, 2), dtype=torch.float64) for query in inputs["queries"]]
    return torch.stack(sums)


SPECIMEN = Specimen(
    inputs,
    distances,
    reference,
    tolerance=1e-5,
    sizes={"passes": 192},
    small={"passes": 2},
)
