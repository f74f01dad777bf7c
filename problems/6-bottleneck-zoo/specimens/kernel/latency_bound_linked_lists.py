"""Sum linked lists; the sick twin's warps walk one list after the other.

Work: 67584 lists of 256 nodes of 32 bytes, scattered over 256 MB; a warp has eight lists. A node's
first word is the next node's number, and all its words are summed.

Gives it away: warps wait for one load (long scoreboard above 90 % of stalls, over a thousand
cycles an instruction), while occupancy is full and no unit, DRAM among them, is busy.
Quiet: a node is one whole sector (nothing excess); enough blocks and warps; no barrier, no
atomics; registers and shared memory limit nothing.

Healthy: a warp walks its eight lists side by side, so eight loads are in flight.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, LISTS, WORDS = 256, 8, 8


def inputs(device: str, nodes: int, hops: int) -> Inputs:
    """Return nodes whose first words are a permutation, and heads for 64 warps an SM."""
    content = torch.randint(1 << 20, (nodes, WORDS), device=device).int()
    content[:, 0] = torch.randperm(nodes, device=device).int()
    warps = 64 * multiprocessors(content)
    heads = torch.randint(nodes, (warps * LISTS,), device=device).int()
    return {"nodes": content, "heads": heads, "hops": torch.tensor(hops)}


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    nodes, heads = inputs["nodes"], inputs["heads"]
    result = blank(heads.numel(), WORDS, like=nodes)
    kernel = Kernel(SOURCE, twin, "list_sums")
    grid = (heads.numel() // LISTS * 32 // THREADS,)
    arguments = (nodes, heads, result, int(inputs["hops"]))
    return kernel.step(grid, (THREADS,), arguments, result)


def reference(inputs: Inputs) -> Tensor:
    """Return the sums, all lists a hop at a time; they wrap around as 32-bit integers do."""
    node = inputs["heads"].long()
    total = torch.zeros(len(node), WORDS, dtype=torch.int32, device=node.device)
    for _ in range(int(inputs["hops"])):
        words = inputs["nodes"][node]
        total += words
        node = words[:, 0].long()
    return total


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=0,
    sizes={"nodes": 1 << 23, "hops": 256},
    small={"nodes": 64, "hops": 4},
)
