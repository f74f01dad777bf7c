"""Train a layer and log every update; the specimen formats its log between updates.

Work: 40 updates of a 3072² linear layer by a fixed gradient, and a JSON record of 4,000 numbers for
each update, none of which comes from the GPU.

Gives it away: between two updates the GPU is idle for as long as the host formats, in no CUDA call.
Quiet: the records need nothing of the GPU, so no call waits for it; launches are few.

Healthy: worker processes format the same records while the loop launches; the lines are collected
after it.
"""

import json

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor
from workers import workers

UPDATES, NUMBERS, RATE = 40, 4000, 1e-3


def inputs(device: str, side: int) -> Inputs:
    """Return a weight, an input and the gradient of the output."""
    shape = (side, side)
    return {name: torch.randn(shape, device=device) for name in ("weight", "x", "gradient")}


def line(number: int) -> str:
    """Return the record of an update."""
    record = {"update": number, "rates": [RATE * (1 + at) for at in range(NUMBERS)]}
    return json.dumps(record, indent=1, sort_keys=True)


def updates(twin: str, inputs: Inputs) -> Step:
    """Return a step of 40 updates."""
    weight = torch.empty_like(inputs["weight"])

    def update() -> None:
        weight.addmm_(inputs["gradient"], inputs["x"], alpha=-RATE)

    def sick() -> Tensor:
        weight.copy_(inputs["weight"])
        lines = []
        for number in range(UPDATES):
            update()
            lines.append(line(number))
        return weight

    def healthy() -> Tensor:
        weight.copy_(inputs["weight"])
        lines = []
        for number in range(UPDATES):
            update()
            lines.append(pool.apply_async(line, (number,)))
        for waiting in lines:
            waiting.get()
        return weight

    if twin == "sick":
        return sick
    pool = workers()
    return healthy


def reference(inputs: Inputs) -> Tensor:
    """Return the weight after all updates, of which each is the same."""
    product = torch.mm(inputs["gradient"].double(), inputs["x"].double())
    return (inputs["weight"].double() - UPDATES * RATE * product).float()


SPECIMEN = Specimen(
    inputs,
    updates,
    reference,
    tolerance=1e-3,
    sizes={"side": 3072},
    small={"side": 16},
    portable=True,
)
