"""Send 16 batches of bytes to the GPU and transform each; the specimen sends them as fp32.

Work: 16 batches of 16 Mi values from 0 to 255, in pinned memory, each value made a number between 0
and 1 and multiplied by a weight of 2048 x 768; a second stream copies the next batch meanwhile.

Gives it away: host-to-device copies one after the other at the link's full rate, from the first to
the last moment of the step, beside which kernels run for less than half of the time.
Quiet: all memory is pinned; every kernel runs beside a copy, so there is nothing left to overlap;
the host is far ahead.

Healthy: the same values are sent as bytes, a quarter of the time, and the GPU converts them.
"""

import torch
from prefetch import prefetched
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

LARGEST = 255


def inputs(device: str, batches: int, rows: int, side: int, columns: int) -> Inputs:
    """Return batches of bytes on the host, and a weight on the device."""
    return {
        "batches": torch.randint(LARGEST + 1, (batches, rows, side), dtype=torch.uint8),
        "weight": torch.randn(side, columns, device=device) / side**0.5,
    }


def sums(twin: str, inputs: Inputs) -> Step:
    """Return a step that sums the products of all batches."""
    weight, batches = inputs["weight"], inputs["batches"]
    if twin == "sick":
        batches = batches.float()
    if weight.is_cuda:
        batches = batches.pin_memory()
    _, rows, side = batches.shape
    result = blank(rows, weight.shape[1], like=weight)
    scaled = torch.empty(rows, side, device=weight.device)

    def add(batch: Tensor) -> None:
        torch.div(batch, LARGEST, out=scaled)
        result.addmm_(scaled, weight)

    def step() -> Tensor:
        result.zero_()
        prefetched(batches, weight.device, add)
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the product of the batches' sum with the weight, from fp64."""
    weight = inputs["weight"].double()
    summed = inputs["batches"].to(weight.device).sum(0, dtype=torch.int64)
    return torch.mm(summed.double() / LARGEST, weight).float()


SPECIMEN = Specimen(
    inputs,
    sums,
    reference,
    tolerance=1e-3,
    sizes={"batches": 16, "rows": 8192, "side": 2048, "columns": 768},
    small={"batches": 2, "rows": 4, "side": 8, "columns": 8},
)
