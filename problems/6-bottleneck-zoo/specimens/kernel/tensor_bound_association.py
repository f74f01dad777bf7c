"""Apply two matrices to vectors; the specimen multiplies the matrices first.

Work: A B V with A and B of 8192 × 8192 and V of 8192 × 1024, in bf16.

Gives it away: the tensor pipe at the measured ceiling in one kernel that is nearly all of the
step.
Quiet: nothing else is near its bound; the library's kernel has no fault of its own.

Healthy: A (B V), the same by association: two products of 8192 × 8192 × 1024, two ninths of the
operations. The tensor pipe is as busy, for less time; under a power limit the clock differs, too.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor


def inputs(device: str, side: int, vectors: int) -> Inputs:
    """Return matrices that keep a vector's length, and vectors."""
    a, b = (torch.randn(side, side, device=device) * side**-0.5 for _ in range(2))
    v = torch.randn(side, vectors, device=device)
    return {"a": a.bfloat16(), "b": b.bfloat16(), "v": v.bfloat16()}


def applied(twin: str, inputs: Inputs) -> Step:
    """Return a step of two products."""
    a, b, v = inputs["a"], inputs["b"], inputs["v"]

    def left_first() -> Tensor:
        return (a @ b) @ v

    def right_first() -> Tensor:
        return a @ (b @ v)

    return left_first if twin == "sick" else right_first


def reference(inputs: Inputs) -> Tensor:
    """Return the result in fp32."""
    a, b, v = (inputs[name].float() for name in ("a", "b", "v"))
    return a @ (b @ v)


SPECIMEN = Specimen(
    inputs,
    applied,
    reference,
    tolerance=2e-2,
    sizes={"side": 8192, "vectors": 1024},
    small={"side": 64, "vectors": 4},
    portable=True,
)
