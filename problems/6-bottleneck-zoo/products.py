"""Products that several specimens make: their inputs and references."""

import torch
from specimen import Inputs
from torch import Tensor


def square(device: str, side: int) -> Inputs:
    """Return two square bf16 matrices whose product has elements of about one."""
    a, b = (torch.randn(side, side, device=device) for _ in range(2))
    return {"a": (a * side**-0.5).bfloat16(), "b": b.bfloat16()}


def of_square(inputs: Inputs) -> Tensor:
    """Return the product of two matrices in fp32."""
    return inputs["a"].float() @ inputs["b"].float()


def of_batches(inputs: Inputs) -> Tensor:
    """Return the product of the batches' sum with the weight, on the weight's device, from fp64."""
    weight = inputs["weight"].double()
    return torch.mm(inputs["batches"].to(weight.device).double().sum(0), weight).float()
