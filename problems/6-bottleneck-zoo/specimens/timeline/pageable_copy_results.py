"""Compute 16 results and fetch each; the specimen fetches them into pageable memory.

Work: 16 products of 2048² fp32 matrices, each result of 16 MiB copied to the host on a second
stream.

Gives it away: device-to-host copies whose host side is pageable, at a fraction of PCIe's rate; the
host waits in each, so products start only when the copy before has ended.
Quiet: 16 kernels and 16 copies: launches cost nothing, and the copies are large, not a flag's
bytes.

Healthy: results go to pinned memory, and each copy runs during the next product.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

PRODUCTS = 16


def inputs(device: str, side: int) -> Inputs:
    """Return two matrices."""
    return {name: torch.randn(side, side, device=device) for name in ("a", "b")}


def fetched(twin: str, inputs: Inputs) -> Step:
    """Return a step whose result is the last product, on the host; all of them are fetched."""
    a, b = inputs["a"], inputs["b"]
    host = torch.empty(PRODUCTS, *a.shape, pin_memory=twin == "healthy")
    products = torch.empty(2, *a.shape, device=a.device)
    copy = torch.cuda.Stream(a.device)

    def step() -> Tensor:
        compute = torch.cuda.current_stream()
        fetched = [torch.cuda.Event(), torch.cuda.Event()]
        for number in range(PRODUCTS):
            if number >= len(fetched):
                compute.wait_event(fetched[number % 2])
            product = torch.mm(a, b, out=products[number % 2])
            product.mul_(1 / (number + 1))
            copy.wait_stream(compute)
            with torch.cuda.stream(copy):
                host[number].copy_(product, non_blocking=True)
                fetched[number % 2].record(copy)
        copy.synchronize()
        return host[-1]

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the last product on the host, from fp64."""
    product = torch.mm(inputs["a"].double(), inputs["b"].double())
    return (product / PRODUCTS).float().cpu()


SPECIMEN = Specimen(
    inputs,
    fetched,
    reference,
    tolerance=1e-3,
    sizes={"side": 2048},
    small={"side": 8},
)
