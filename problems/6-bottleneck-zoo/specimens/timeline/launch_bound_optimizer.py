"""Update 300 small parameters by SGD with momentum; the specimen updates them one by one.

Work: 300 parameters of 1 MiB of fp32 words with gradients and momenta, four updates a step.

Gives it away: 3,600 kernels of about 2 µs a step, the GPU idle between them while the host
launches.
Quiet: no call waits for the GPU, nothing is copied or allocated within the updates.

Healthy: torch._foreach_ functions, which update many parameters with a launch.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

MOMENTUM, RATE, UPDATES = 0.9, 0.01, 4


def inputs(device: str, parameters: int, words: int) -> Inputs:
    """Return stacked parameters and gradients, a row each."""
    shape = (parameters, words)
    return {
        "parameters": torch.randn(shape, device=device),
        "gradients": torch.randn(shape, device=device),
    }


def updates(twin: str, inputs: Inputs) -> Step:
    """Return a step that starts from the same parameters and makes four updates."""
    whole = torch.empty_like(inputs["parameters"])
    moments = torch.empty_like(whole)
    parameters, momenta = list(whole.unbind()), list(moments.unbind())
    gradients = list(inputs["gradients"].unbind())

    def begin() -> None:
        whole.copy_(inputs["parameters"])
        moments.zero_()

    def sick() -> Tensor:
        begin()
        for _ in range(UPDATES):
            for parameter, momentum, gradient in zip(parameters, momenta, gradients, strict=True):
                momentum.mul_(MOMENTUM).add_(gradient)
                parameter.add_(momentum, alpha=-RATE)
        return whole

    def healthy() -> Tensor:
        begin()
        for _ in range(UPDATES):
            torch._foreach_mul_(momenta, MOMENTUM)
            torch._foreach_add_(momenta, gradients)
            torch._foreach_add_(parameters, momenta, alpha=-RATE)
        return whole

    return sick if twin == "sick" else healthy


def reference(inputs: Inputs) -> Tensor:
    """Return the parameters after the updates: the momenta are multiples of the gradients."""
    momentum = total = 0.0
    for _ in range(UPDATES):
        momentum = MOMENTUM * momentum + 1.0
        total += momentum
    return inputs["parameters"] - RATE * total * inputs["gradients"]


SPECIMEN = Specimen(
    inputs,
    updates,
    reference,
    tolerance=1e-5,
    sizes={"parameters": 300, "words": 1 << 18},
    small={"parameters": 3, "words": 16},
    portable=True,
)
