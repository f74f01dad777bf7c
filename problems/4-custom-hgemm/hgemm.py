"""The best kernel as a torch operator, ``worklogs::hgemm``, and linear layers on it.

For users who do not write kernels: ``replace_linears(model)``, then optionally ``torch.compile``.
Inference alone: no gradient is registered, and asking for one is an error of torch's own.
"""

from functools import cache

import torch
from build import CACHE
from dispatch import Dispatcher
from torch import Tensor, nn

_ELEMENTS = {torch.bfloat16: "bf16", torch.float16: "fp16"}
_HOPPER = (9, 0)


@torch.library.custom_op("worklogs::hgemm", mutates_args=())
def hgemm(a: Tensor, b: Tensor) -> Tensor:
    """Return A @ B for A of M by K and B of K by N, summed in fp32.

    By the kernels where they can: two contiguous 16-bit matrices of one type on one Hopper GPU. By
    ``torch.mm`` where not.
    """
    if not computes(a, b):
        return torch.mm(a, b)
    c = a.new_empty(a.shape[0], b.shape[1])
    with torch.cuda.device(a.device):
        _dispatcher(a.device.index, _ELEMENTS[a.dtype])(a, b, c)
    return c


@hgemm.register_fake
def _(a: Tensor, b: Tensor) -> Tensor:
    torch._check(a.dim() == b.dim() == 2, lambda: "hgemm takes two matrices")
    torch._check(a.shape[1] == b.shape[0], lambda: "hgemm: the inner sizes differ")
    return a.new_empty(a.shape[0], b.shape[1])


def computes(a: Tensor, b: Tensor) -> bool:
    """Return whether the kernels take these operands."""
    return (
        a.is_cuda
        and a.device == b.device
        and a.dtype == b.dtype
        and a.dtype in _ELEMENTS
        and a.dim() == b.dim() == 2
        and a.shape[1] == b.shape[0]
        and a.is_contiguous()
        and b.is_contiguous()
        and min(*a.shape, *b.shape) > 0
        and a.data_ptr() % 16 == b.data_ptr() % 16 == 0
        and _capability(a.device.index) == _HOPPER
    )


class Linear(nn.Module):
    """``nn.Linear`` on hgemm.

    That layer keeps its weight as N by K and multiplies with the transposed; the kernels read rows
    of N. So the weight is transposed here, once, and kept instead of the other.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight: Tensor
        self.register_buffer("weight", linear.weight.detach().t().contiguous())
        self.bias: Tensor | None
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        """Return x @ weight + bias over the last dimension of ``x``."""
        flat = hgemm(x.reshape(-1, self.in_features), self.weight)
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
def _dispatcher(device: int, element: str) -> Dispatcher:  # noqa: ARG001 - a module is a device's
    return Dispatcher(element, CACHE)
