"""Train a layer and keep its losses; the specimen keeps each loss with its graph.

Work: 8 forward and backward passes of a layer of 1024² on 256 rows, and a list of the losses.

Gives it away: the level of allocated bytes rises by the same amount in every step and never falls;
the blocks left behind are activations, all from one line of the model.
Quiet: no peak stands out from the slope; reserved bytes follow allocated bytes.

Healthy: the losses are detached.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

PASSES = 8
MOST_KEPT = 2000
"""Losses after which the list is emptied, so that timing many steps does not fill the GPU."""


def inputs(device: str, side: int, rows: int) -> Inputs:
    """Return a weight and a batch."""
    return {
        "weight": torch.randn(side, side, device=device) / side**0.5,
        "x": torch.randn(rows, side, device=device),
    }


def passes(twin: str, inputs: Inputs) -> Step:
    """Return a step that adds 8 losses to a list, and returns the weight's gradient."""
    x = inputs["x"]
    weight = inputs["weight"].clone().requires_grad_()
    history: list[Tensor] = []

    def step() -> Tensor:
        weight.grad = None
        for _ in range(PASSES):
            activations = torch.tanh(torch.mm(x, weight))
            loss = activations.square().mean()
            (gradient,) = torch.autograd.grad(loss, weight, retain_graph=twin == "sick")
            weight.grad = gradient if weight.grad is None else weight.grad + gradient
            history.append(loss if twin == "sick" else loss.detach())
            if len(history) == MOST_KEPT:
                history.clear()
        return weight.grad

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the gradient of the passes by its formula, in fp64."""
    x, weight = inputs["x"].double(), inputs["weight"].double()
    activations = torch.tanh(torch.mm(x, weight))
    slope = 2 * activations * (1 - activations.square()) / activations.numel()
    return (PASSES * torch.mm(x.t(), slope)).float()


SPECIMEN = Specimen(
    inputs,
    passes,
    reference,
    tolerance=1e-2,
    sizes={"side": 1024, "rows": 256},
    small={"side": 8, "rows": 16},
    portable=True,
)
