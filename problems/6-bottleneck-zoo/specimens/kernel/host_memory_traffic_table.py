"""Add up the rows of a table by 64; the specimen's table lies in pinned memory of the host.

Work: a table of 131,072 rows of 1 KB, 128 MiB, that comes from the host, and 16 launches that each
make 2,048 sums of 64 of its rows, each row once, in a random order of their own.

Gives it away: nearly all sectors that L2 has to fetch come from system memory, at the rate of the
link to the host; warps wait (long scoreboard) for them, and DRAM is idle.
Quiet: a block's loads are one whole row (nothing excess); enough blocks and warps; no part of the
GPU itself is busy.

Healthy: each step copies the table to device memory first; the copy then takes most of the time.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank, in_turn
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 256
"""As many as a row has words of 4 bytes."""


def inputs(device: str, results: int, each: int, launches: int) -> Inputs:
    """Return the table, and the rows that each result of each launch adds up."""
    rows = results * each
    orders = [torch.randperm(rows, dtype=torch.int32, device=device) for _ in range(launches)]
    return {
        "table": torch.randint(-1000, 1000, (rows, THREADS), dtype=torch.int32, device=device),
        "order": torch.stack(orders).view(launches, results, each),
    }


def summed(twin: str, inputs: Inputs) -> Step:
    """Return a step of all launches, in the healthy twin after a copy."""
    table, order = inputs["table"], inputs["order"]
    launches, results, each = order.shape
    result = blank(launches, results, THREADS, like=table)
    host, copied = table.cpu().pin_memory(), torch.empty_like(table)
    place = host if twin == "sick" else copied
    kernel = Kernel(SOURCE, twin, "sum_rows")
    steps = [
        kernel.step((results,), (THREADS,), (place, rows, sums, each), sums)
        for rows, sums in zip(order, result, strict=True)
    ]
    if twin == "healthy":
        steps.insert(0, lambda: copied.copy_(host, non_blocking=True))
    return in_turn(steps, result)


def reference(inputs: Inputs) -> Tensor:
    """Return torch's sums of the rows in their order."""
    table, order = inputs["table"], inputs["order"]
    launches, results, each = order.shape
    result = torch.zeros(launches * results, THREADS, dtype=torch.int32, device=table.device)
    for rows in order.view(-1, each).unbind(1):
        result += table[rows.long()]
    return result.view(launches, results, THREADS)


SPECIMEN = Specimen(
    inputs,
    summed,
    reference,
    tolerance=0,
    sizes={"results": 1 << 11, "each": 64, "launches": 16},
    small={"results": 4, "each": 8, "launches": 2},
)
