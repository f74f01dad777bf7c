"""The kernels as a torch operator, ``worklogs::hgemm``, and linear layers on it.

For users who do not write kernels: ``replace_linears(model)``, then optionally ``torch.compile``.
The operator has gradients, which are products of the same kernels: nothing is transposed in memory.
"""

from functools import cache
from typing import Any

import torch
from cubins import CACHE
from multiplier import Multiplier, order, tuned
from torch import Tensor, nn

_ELEMENTS = {torch.bfloat16: "bf16", torch.float16: "fp16"}
_HOPPER = (9, 0)


@torch.library.custom_op("worklogs::hgemm", mutates_args=())
def hgemm(a: Tensor, b: Tensor) -> Tensor:
    """Return A @ B for A of M by K and B of K by N, summed in fp32.

    By the kernels where they can: two 16-bit matrices of one type on one Hopper GPU, each row-major
    or the transpose of a row-major matrix; one that lies otherwise is copied. By ``torch.mm`` where
    not.
    """
    if not computes(a, b):
        return torch.mm(a, b)
    a, b = (operand if order(operand) else operand.contiguous() for operand in (a, b))
    c = a.new_empty(a.shape[0], b.shape[1])
    with torch.cuda.device(a.device):
        _multiplier(a.device.index, _ELEMENTS[a.dtype])(a, b, c)
    return c


@hgemm.register_fake
def _(a: Tensor, b: Tensor) -> Tensor:
    torch._check(a.dim() == b.dim() == 2, lambda: "hgemm takes two matrices")
    torch._check(a.shape[1] == b.shape[0], lambda: "hgemm: the inner sizes differ")
    return a.new_empty(a.shape[0], b.shape[1])


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:  # noqa: ARG001
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients: C' @ B^T and A^T @ C', for the operands that need them."""
    a, b = ctx.saved_tensors
    need_a, need_b = ctx.needs_input_grad
    return hgemm(grad, b.t()) if need_a else None, hgemm(a.t(), grad) if need_b else None


hgemm.register_autograd(_backward, setup_context=_keep)


def computes(a: Tensor, b: Tensor) -> bool:
    """Return whether the kernels take these operands."""
    return (
        a.is_cuda
        and a.device == b.device
        and a.dtype == b.dtype
        and a.dtype in _ELEMENTS
        and a.dim() == b.dim() == 2
        and a.shape[1] == b.shape[0]
        and min(*a.shape, *b.shape) > 0
        and _capability(a.device.index) == _HOPPER
    )


class Linear(nn.Module):
    """``nn.Linear`` on hgemm, with the weight as that layer keeps it, N by K."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """Return x @ weight^T + bias over the last dimension of ``x``."""
        flat = hgemm(x.reshape(-1, self.in_features), self.weight.t())
        y = flat.reshape(*x.shape[:-1], self.out_features)
        return y if self.bias is None else y + self.bias


def replace_linears(model: nn.Module) -> nn.Module:
    """Put ``Linear`` in the place of every ``nn.Linear`` in ``model``, and return it."""
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, Linear(child))
        else:
            replace_linears(child)
    return model


@cache
def _capability(device: int) -> tuple[int, int]:
    return torch.cuda.get_device_capability(device)


@cache
def _multiplier(device: int, element: str) -> Multiplier:
    return Multiplier(element, CACHE, tuned=tuned(torch.cuda.get_device_name(device)))
