"""``worklogs::hgemm`` in Python, for machines without a C++ compiler: each call costs more."""

from typing import Any

import torch
from multiplier import computes, multiplier, order
from torch import Tensor
from torch.autograd import forward_ad

NAME = "hgemm"
DEVICES = "cpu", "cuda"
LIBRARY = torch.library.Library("worklogs", "FRAGMENT")
LIBRARY.define(f"{NAME}(Tensor a, Tensor b) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
OPERATOR = torch.ops.worklogs.hgemm.default


class Product(torch.autograd.Function):
    """The gradients are products of the same operator: C' @ B^T and A^T @ C'."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        """Return A @ B and keep both."""
        ctx.save_for_backward(a, b)
        return _below_autograd(a, b)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Return the gradients for the operands that need them."""
        a, b = ctx.saved_tensors
        need_a, need_b = ctx.needs_input_grad
        return OPERATOR(grad, b.t()) if need_a else None, OPERATOR(a.t(), grad) if need_b else None


def _below_autograd(a: Tensor, b: Tensor) -> Tensor:
    with torch._C._AutoDispatchBelowAutograd():
        product: Tensor = OPERATOR(a, b)
    return product


def _by_kernels(a: Tensor, b: Tensor) -> Tensor:
    if not computes(a, b):
        return torch.mm(a, b)
    a, b = (operand if order(operand) else operand.contiguous() for operand in (a, b))
    c = a.new_empty(a.shape[0], b.shape[1])
    with torch.cuda.device(a.device):
        multiplier(a.device.index, a.dtype)(a, b, c)
    return c


def _by_library(a: Tensor, b: Tensor) -> Tensor:
    return torch.mm(a, b)


def _is_transformed(operand: Tensor) -> bool:
    """Return whether it has a forward gradient or is a wrapper of torch.func's."""
    if torch._C._functorch.is_functorch_wrapped_tensor(operand):
        return True
    return forward_ad.unpack_dual(operand).tangent is not None


def _with_gradients(a: Tensor, b: Tensor) -> Tensor:
    """Return A @ B; by torch.mm, which knows all derivatives, where reverse ones are not enough."""
    if _is_transformed(a) or _is_transformed(b):
        return torch.mm(a, b)
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        product: Tensor = Product.apply(a, b)
        return product
    return _below_autograd(a, b)


def _with_autocast(device: str) -> Any:
    """Return what casts both operands to autocast's type on a device, as torch.mm does there."""
    key = getattr(torch._C.DispatchKey, f"Autocast{device.upper()}")

    def cast(operand: Tensor) -> Tensor:
        eligible = operand.is_floating_point() and operand.dtype != torch.float64
        if not eligible or operand.device.type != device:
            return operand
        return operand.to(torch.get_autocast_dtype(device))

    def product(a: Tensor, b: Tensor) -> Tensor:
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
            result: Tensor = OPERATOR(cast(a), cast(b))
        return result

    return product


LIBRARY.impl(NAME, _by_library, "CompositeExplicitAutograd")
LIBRARY.impl(NAME, _by_kernels, "CUDA")
LIBRARY.impl(NAME, _with_gradients, "Autograd")
LIBRARY.impl(NAME, _by_library, "FuncTorchBatched")
for _device in DEVICES:
    LIBRARY.impl(NAME, _with_autocast(_device), f"Autocast{_device.upper()}")
