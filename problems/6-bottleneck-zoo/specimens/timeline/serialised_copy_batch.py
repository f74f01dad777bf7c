"""Send 16 pinned batches to the GPU and transform each; the specimen's copies share its stream.

Work: 16 batches of 64 MiB from pinned memory, each multiplied by a weight of 2048².

Gives it away: pinned host-to-device copies at full speed, none of which overlaps a kernel: copy,
product, copy, product, on a single stream.
Quiet: the host only enqueues and is far ahead; nothing is pageable; the GPU is never idle.

Healthy: a second stream copies the next batch during the product.
"""

import torch
from prefetch import prefetched
from products import of_batches
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor


def inputs(device: str, batches: int, rows: int, side: int) -> Inputs:
    """Return batches on the host, pinned for a GPU, and a weight on the device."""
    on_host = torch.randn(batches, rows, side)
    return {
        "batches": on_host.pin_memory() if device == "cuda" else on_host,
        "weight": torch.randn(side, side, device=device) / side**0.5,
    }


def sums(twin: str, inputs: Inputs) -> Step:
    """Return a step that sums the products of all batches."""
    weight, batches = inputs["weight"], inputs["batches"]
    _, rows, side = batches.shape
    result = blank(rows, side, like=weight)
    buffer = torch.empty_like(batches[0], device=weight.device)

    def add(batch: Tensor) -> None:
        result.addmm_(batch, weight)

    def sick() -> Tensor:
        result.zero_()
        for batch in batches:
            buffer.copy_(batch, non_blocking=True)
            add(buffer)
        return result

    def healthy() -> Tensor:
        result.zero_()
        prefetched(batches, weight.device, add)
        return result

    return sick if twin == "sick" else healthy


SPECIMEN = Specimen(
    inputs,
    sums,
    of_batches,
    tolerance=1e-3,
    sizes={"batches": 16, "rows": 8192, "side": 2048},
    small={"batches": 2, "rows": 4, "side": 8},
)
