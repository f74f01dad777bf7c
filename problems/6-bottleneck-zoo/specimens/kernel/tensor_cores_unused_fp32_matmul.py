"""Multiply fp32 matrices with torch; the specimen has its default precision.

Work: 4096³ in fp32.

Gives it away: no instruction of the tensor pipe in a library's matrix product, whose fma pipe is
the busiest.
Quiet: the library's kernel is well tuned in all else: coalesced, without conflicts, many waves.

Healthy: TF32 allowed (`torch.backends.cuda.matmul.allow_tf32`), so that tensor cores multiply with
ten bits of mantissa and sum in fp32. The error is measured, and it is a choice.
"""

import torch
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor


def inputs(device: str, side: int) -> Inputs:
    """Return two square matrices whose product has elements of about one."""
    a, b = (torch.randn(side, side, device=device) for _ in range(2))
    return {"a": a * side**-0.5, "b": b}


def multiplied(twin: str, inputs: Inputs) -> Step:
    """Return a step of one product."""
    a, b = inputs["a"], inputs["b"]
    result = blank(*a.shape, like=a)

    def step() -> Tensor:
        torch.backends.cuda.matmul.allow_tf32 = twin == "healthy"
        return torch.mm(a, b, out=result)

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the product in fp64."""
    return inputs["a"].double() @ inputs["b"].double()


SPECIMEN = Specimen(
    inputs,
    multiplied,
    reference,
    tolerance=3e-3,
    sizes={"side": 4096},
    small={"side": 16},
    portable=True,
)
