"""Send 12 batches to the GPU and transform each; the sick twin's batches are in pageable memory.

Work: 12 batches of 32 MiB, each copied to the GPU and scaled by a 2048² product.

Gives it away: host-to-device copies whose host side is pageable take most of the step, at a few
GB/s, and the host is in cudaMemcpyAsync for as long.
Quiet: the GPU reads "busy" while it copies, but kernels run for a small part; few launches.

Healthy: batches lie in pinned memory, and a second stream copies the next one during the product.
"""

import torch
from prefetch import prefetched
from products import of_batches
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor


def inputs(device: str, batches: int, rows: int, side: int) -> Inputs:
    """Return batches on the host and a weight on the device."""
    return {
        "batches": torch.randn(batches, rows, side),
        "weight": torch.randn(side, side, device=device) / side**0.5,
    }


def sums(twin: str, inputs: Inputs) -> Step:
    """Return a step that sums the products of all batches."""
    weight, batches = inputs["weight"], inputs["batches"]
    _, rows, side = batches.shape
    result = blank(rows, side, like=weight)

    def add(batch: Tensor) -> None:
        result.addmm_(batch, weight)

    def sick() -> Tensor:
        result.zero_()
        for batch in batches:
            add(batch.to(weight.device, non_blocking=True))
        return result

    pinned = batches.pin_memory() if twin == "healthy" else None

    def healthy() -> Tensor:
        result.zero_()
        prefetched(pinned, weight.device, add)
        return result

    return sick if twin == "sick" else healthy


SPECIMEN = Specimen(
    inputs,
    sums,
    of_batches,
    tolerance=1e-3,
    sizes={"batches": 12, "rows": 4096, "side": 2048},
    small={"batches": 2, "rows": 4, "side": 8},
)
