"""Send 12 batches to the GPU and transform each; the specimen's batches lie in pageable memory.

Work: 12 batches of 32 MiB, each multiplied by a weight of 2048²; a second stream copies the next
batch during the product.

Gives it away: host-to-device copies whose host side is pageable take most of the step, at a
fraction of PCIe's rate, and the host is in cudaMemcpyAsync for as long.
Quiet: the GPU reads "busy" while it copies, but kernels run for a small part; few launches.

Healthy: the batches lie in pinned memory.
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
    if twin == "healthy":
        batches = batches.pin_memory()
    result = blank(rows, side, like=weight)

    def add(batch: Tensor) -> None:
        result.addmm_(batch, weight)

    def step() -> Tensor:
        result.zero_()
        prefetched(batches, weight.device, add)
        return result

    return step


SPECIMEN = Specimen(
    inputs,
    sums,
    of_batches,
    tolerance=1e-3,
    sizes={"batches": 12, "rows": 4096, "side": 2048},
    small={"batches": 2, "rows": 4, "side": 8},
)
