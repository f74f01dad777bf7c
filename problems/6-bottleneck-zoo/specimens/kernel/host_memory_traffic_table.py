"""Add up the rows of a table by 64; the sick twin's table lies in pinned memory of the host.

Work: a table of 524,288 rows of 1 KB, 512 MiB, and 8,192 sums of 64 of its rows, in random order,
each row once.

Gives it away: nearly all sectors that L2 has to fetch come from system memory, at the rate of the
link to the host; warps wait (long scoreboard) for them, and DRAM is idle.
Quiet: a block's loads are one whole row (nothing excess); enough blocks and warps; no part of the
GPU itself is busy.

Healthy: the table lies in device memory, and DRAM sets the time.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 256
"""As many as a row has words of 4 bytes."""


def inputs(device: str, results: int, each: int) -> Inputs:
    """Return the table, and the rows that each result adds up."""
    rows = results * each
    return {
        "table": torch.randint(-1000, 1000, (rows, THREADS), dtype=torch.int32, device=device),
        "order": torch.randperm(rows, dtype=torch.int32, device=device).view(results, each),
    }


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    table, order = inputs["table"], inputs["order"]
    results, each = order.shape
    result = blank(results, THREADS, like=table)
    place = table.cpu().pin_memory() if twin == "sick" else table
    kernel = Kernel(SOURCE, twin, "sum_rows")
    return kernel.step((results,), (THREADS,), (place, order, result, each), result)


def reference(inputs: Inputs) -> Tensor:
    """Return torch's sums of the rows in their order."""
    table, order = inputs["table"], inputs["order"]
    result = torch.zeros(len(order), THREADS, dtype=torch.int32, device=table.device)
    for rows in order.unbind(1):
        result += table[rows.long()]
    return result


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=0,
    sizes={"results": 1 << 13, "each": 64},
    small={"results": 4, "each": 8},
)
