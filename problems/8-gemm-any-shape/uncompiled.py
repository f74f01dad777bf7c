"""``worklogs::hgemm`` in Python, for machines without a C++ compiler: each call costs more."""

from typing import Any

import torch
from multiplier import computes, multiplier, order
from torch import Tensor


@torch.library.custom_op("worklogs::hgemm", mutates_args=())
def hgemm(a: Tensor, b: Tensor) -> Tensor:
    """Return A @ B as the compiled operator does."""
    if not computes(a, b):
        return torch.mm(a, b)
    a, b = (operand if order(operand) else operand.contiguous() for operand in (a, b))
    c = a.new_empty(a.shape[0], b.shape[1])
    with torch.cuda.device(a.device):
        multiplier(a.device.index, a.dtype)(a, b, c)
    return c


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:  # noqa: ARG001
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients: C' @ B^T and A^T @ C', for the operands that need them."""
    a, b = ctx.saved_tensors
    need_a, need_b = ctx.needs_input_grad
    return hgemm(grad, b.t()) if need_a else None, hgemm(a.t(), grad) if need_b else None


hgemm.register_autograd(_backward, setup_context=_keep)
