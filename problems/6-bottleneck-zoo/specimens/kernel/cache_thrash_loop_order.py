"""Sum distances of queries to a table; the sick twin sweeps the whole table for each query.

Work: two tables of 512 KB, two blocks of 1024 threads an SM, 64 queries a block; a distance is
|entry - query|.

Gives it away: a hit rate of L1 near zero beside one of L2 near 100 %: the same half MB comes again
and again from L2, whose throughput is the highest of all units; DRAM reads one MB.
Quiet: accesses are coalesced (4 sectors a request), DRAM is idle (not dram-bound), 64 warps an SM
and many loads in flight (not latency-bound). The blocks of an SM sweep different tables, so that
one does not find in L1 what the other read.

Healthy: loops exchanged. A thread loads an entry once for eight queries, so an eighth of the bytes
come from L2.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, multiprocessors
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS, QUERIES, TABLES = 1024, 64, 2


def inputs(device: str, entries: int) -> Inputs:
    """Return tables of ``entries`` words, and 64 queries for each of two blocks an SM."""
    blocks = TABLES * multiprocessors(torch.empty(0, device=device))
    return {
        "tables": torch.rand(TABLES, entries, device=device),
        "queries": torch.rand(blocks, QUERIES, device=device),
    }


def distances(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    tables, queries = inputs["tables"], inputs["queries"]
    result = blank(*queries.shape, like=queries)
    kernel = Kernel(SOURCE, twin, "distances")
    arguments = (tables, queries, result, tables.shape[1])
    return kernel.step((queries.shape[0],), (THREADS,), arguments, result)


def reference(inputs: Inputs) -> Tensor:
    """Return the sums by another way: from sorted tables and their running sums, in fp64."""
    half = inputs["queries"].shape[0] // TABLES
    sums = []
    for table, queries in zip(inputs["tables"], inputs["queries"].split(half), strict=True):
        entries, asked = table.double().sort().values, queries.double().contiguous()
        running = torch.cat([entries.new_zeros(1), entries.cumsum(0)])
        below = torch.searchsorted(entries, asked)
        sums.append(asked * (2 * below - len(entries)) - 2 * running[below] + running[-1])
    return torch.cat(sums)


SPECIMEN = Specimen(
    inputs,
    distances,
    reference,
    tolerance=1e-5,
    sizes={"entries": 1 << 17},
    small={"entries": 1 << 10},
)
