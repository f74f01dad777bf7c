"""Add up the rows of a table by 64; the sick twin's table lies in pinned memory of the host.

Work: a table of 131,072 rows of 1 KB, 128 MiB, that comes from the host, and 32,768 sums of 64 of
its rows, in random order, each row 16 times.

Gives it away: nearly all sectors that L2 has to fetch come from system memory, at the rate of the
link to the host; warps wait (long scoreboard) for them, and DRAM is idle.
Quiet: a block's loads are one whole row (nothing excess); enough blocks and warps; no part of the
GPU itself is busy.

Healthy: each step copies the table to device memory first; the copy then sets the time.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 256
"""As many as a row has words of 4 bytes."""


def inputs(device: str, results: int, each: int, reads: int) -> Inputs:
    """Return the table, and the rows that each result adds up."""
    rows = results * each // reads
    order = torch.cat([torch.randperm(rows, device=device) for _ in range(reads)])
    return {
        "table": torch.randint(-1000, 1000, (rows, THREADS), dtype=torch.int32, device=device),
        "order": order.int().view(results, each),
    }


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch, for the healthy twin after a copy."""
    table, order = inputs["table"], inputs["order"]
    results, each = order.shape
    result = blank(results, THREADS, like=table)
    host, copied = table.cpu().pin_memory(), torch.empty_like(table)
    place = host if twin == "sick" else copied
    kernel = Kernel(SOURCE, twin, "sum_rows")
    launch = kernel.step((results,), (THREADS,), (place, order, result, each), result)

    def healthy() -> Tensor:
        copied.copy_(host, non_blocking=True)
        return launch()

    return launch if twin == "sick" else healthy


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
    sizes={"results": 1 << 15, "each": 64, "reads": 16},
    small={"results": 4, "each": 8, "reads": 2},
)
