"""Look up rows of a table; in the specimen each block of a cluster holds an eighth of it.

Work: 1024 lookups a warp, at random, in a table of 128 rows of 64 words (32 KB); a row's number
comes from a linear congruential generator.

Gives it away: seven of eight lookups read another block's shared memory (distributed shared
memory), over the network between SMs; warps wait for it while the own shared memory, L1, L2 and
DRAM are nearly idle.
Quiet: a warp reads 64 neighbouring words (no conflicts); the table is read from global memory
once; occupancy is high.

Healthy: every block holds the whole table. Shared memory, integers and issue slots are then about
as busy as each other.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, CLUSTER, ROWS, WIDTH = 256, 8, 128, 64
FACTOR, ADDED = 1664525, 1013904223


def inputs(device: str, clusters_per_sm: int, lookups: int) -> Inputs:
    """Return the table and each warp's first state, below 2³¹."""
    blocks = CLUSTER * clusters_per_sm * multiprocessors(torch.empty(0, device=device))
    states = torch.randint((1 << 31) - 1, (blocks * THREADS // 32,), device=device)
    table = torch.rand(ROWS, WIDTH, device=device)
    return {"table": table, "states": states.int(), "lookups": torch.tensor(lookups)}


def looked_up(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    table, states = inputs["table"], inputs["states"]
    result = blank(states.numel(), WIDTH, like=table)
    kernel = Kernel(SOURCE, twin, "look_up")
    grid = (states.numel() * 32 // THREADS,)
    return kernel.step(grid, (THREADS,), (table, states, result, int(inputs["lookups"])), result)


def reference(inputs: Inputs) -> Tensor:
    """Return the sums, all warps a lookup at a time, in fp64."""
    state, table = inputs["states"].long(), inputs["table"].double()
    total = torch.zeros(len(state), WIDTH, dtype=torch.float64, device=state.device)
    for _ in range(int(inputs["lookups"])):
        state = (state * FACTOR + ADDED) & 0xFFFFFFFF
        total += table[state >> 25]
    return total


SPECIMEN = Specimen(
    inputs,
    looked_up,
    reference,
    tolerance=1e-5,
    sizes={"clusters_per_sm": 6, "lookups": 1024},
    small={"clusters_per_sm": 1, "lookups": 16},
)
