"""Sum the losses of 40 small layers; the specimen fetches each loss as a Python number.

Work: 40 times a layer of 1024 × 1024 on 1,024 rows, its squared output averaged.

Gives it away: a device-to-host copy of 4 bytes and a wait in each of 40 iterations, and the GPU
idle right after each, until the host has launched again.
Quiet: without the waits the host runs ahead, as a layer takes longer than its launches, so neither
launches nor Python hold the GPU up; the copies move 160 bytes.

Healthy: the sum stays on the GPU.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

LAYERS = 40


def inputs(device: str, side: int, rows: int) -> Inputs:
    """Return a layer and its input."""
    return {
        "weight": torch.randn(side, side, device=device) / side**0.5,
        "x": torch.randn(rows, side, device=device),
    }


def losses(twin: str, inputs: Inputs) -> Step:
    """Return a step that sums 40 losses."""
    weight, x = inputs["weight"], inputs["x"]

    def loss(current: Tensor) -> tuple[Tensor, Tensor]:
        current = torch.tanh(torch.mm(current, weight))
        return current, current.square().mean()

    def sick() -> Tensor:
        total, current = 0.0, x
        for _ in range(LAYERS):
            current, one = loss(current)
            total += one.item()
        return torch.full((1,), total, device=x.device)

    def healthy() -> Tensor:
        total, current = x.new_zeros(1), x
        for _ in range(LAYERS):
            current, one = loss(current)
            total += one
        return total

    return sick if twin == "sick" else healthy


def reference(inputs: Inputs) -> Tensor:
    """Return the sum of the losses in fp64."""
    current, weight = inputs["x"].double(), inputs["weight"].double()
    total = current.new_zeros(1)
    for _ in range(LAYERS):
        current = torch.tanh(torch.mm(current, weight))
        total += current.square().mean()
    return total.float()


SPECIMEN = Specimen(
    inputs,
    losses,
    reference,
    tolerance=2e-2,
    sizes={"side": 1024, "rows": 1024},
    small={"side": 16, "rows": 4},
    portable=True,
)
