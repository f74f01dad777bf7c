"""Train a layer and log every update; the sick twin formats its log between updates.

Work: 40 updates of a 2048² linear layer by a fixed gradient, and a JSON record of 2,000 numbers for
each update, none of which comes from the GPU.

Gives it away: between two updates the GPU is idle for as long as the host formats, in no CUDA call.
Quiet: the records need nothing of the GPU, so no call waits for it; launches are few.

Healthy: records are collected as numbers and formatted once, after all updates are launched.
"""

import json

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

UPDATES, NUMBERS, RATE = 40, 2000, 1e-3


def inputs(device: str, side: int) -> Inputs:
    """Return a weight, an input and the gradient of the output."""
    shape = (side, side)
    return {name: torch.randn(shape, device=device) for name in ("weight", "x", "gradient")}


def updates(twin: str, inputs: Inputs) -> Step:
    """Return a step of 40 updates."""
    weight = torch.empty_like(inputs["weight"])
    sick = twin == "sick"

    def step() -> Tensor:
        weight.copy_(inputs["weight"])
        lines: list[str] = []
        waiting = []
        for number in range(UPDATES):
            weight.addmm_(inputs["gradient"], inputs["x"], alpha=-RATE)
            record = {"update": number, "rates": [RATE * (1 + at) for at in range(NUMBERS)]}
            if sick:
                lines.append(json.dumps(record, indent=1, sort_keys=True))
            else:
                waiting.append(number)
        if waiting:
            rates = [RATE * (1 + at) for at in range(NUMBERS)]
            lines.append(json.dumps({"updates": waiting, "rates": rates}))
        return weight

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the weight after all updates, of which each is the same."""
    product = torch.mm(inputs["gradient"].double(), inputs["x"].double())
    return (inputs["weight"].double() - UPDATES * RATE * product).float()


SPECIMEN = Specimen(
    inputs,
    updates,
    reference,
    tolerance=1e-3,
    sizes={"side": 2048},
    small={"side": 16},
    portable=True,
)
