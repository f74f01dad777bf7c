"""The kernels as a torch operator, ``worklogs::hgemm``, and linear layers on it.

For users who do not write kernels: ``replace_linears(model)`` puts layers on it where that gains;
then optionally ``torch.compile``.
The operator has gradients, which are products of the same kernels: nothing is transposed in memory.
It is C++ (``hgemm_operator.cpp``), compiled when this is first imported; Python binds a product
once. Without a compiler on the machine all of it is Python (``uncompiled.py``).
"""

import ctypes
from pathlib import Path
from types import ModuleType

import extension
import torch
from ladder import MAX_BOUND, driver
from multiplier import HOPPER, capability, multiplier
from packing import Record, enter_context
from plans import CHUNK
from torch import Tensor, nn


def _bind(a: Tensor, b: Tensor, c: Tensor, stream: int) -> Record | None:
    """Return the record of ``c = a @ b`` on the current device; None if kernels are not for it."""
    if capability(a.device.index) != HOPPER:
        return None
    return Record(multiplier(a.device.index, a.dtype).bind(stream, a, b, c), stream)


def _connect(module: ModuleType) -> None:
    """Hand the extension what it calls; without a GPU's driver ``torch.mm`` multiplies."""
    try:
        cuda = driver()
        of_torch = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cuda.so"))
    except OSError:
        return
    functions = (
        cuda.cuLaunchKernelEx,
        cuda.cuTensorMapReplaceAddress,
        cuda.cuGetErrorString,
        cuda.cuCtxGetCurrent,
        of_torch.aoti_torch_get_current_cuda_stream,
    )
    addresses = [ctypes.cast(each, ctypes.c_void_p).value for each in functions]
    module.connect(addresses, _bind, enter_context, MAX_BOUND)


_EXTENSION = extension.load()
if _EXTENSION is None:
    import uncompiled  # noqa: F401 - defines the operator
else:
    _connect(_EXTENSION)

OPERATOR = torch.ops.worklogs.hgemm.default
_DIRECT = OPERATOR if _EXTENSION is None else _EXTENSION.hgemm


@torch.library.register_fake("worklogs::hgemm")
def _(a: Tensor, b: Tensor) -> Tensor:
    torch._check(a.dim() == b.dim() == 2, lambda: "hgemm takes two matrices")
    torch._check(a.shape[1] == b.shape[0], lambda: "hgemm: the inner sizes differ")
    return a.new_empty(a.shape[0], b.shape[1])


def hgemm(a: Tensor, b: Tensor) -> Tensor:
    """Return A @ B for A of M by K and B of K by N, summed in fp32.

    By the kernels where they can: two 16-bit matrices of one type on one Hopper GPU, each row-major
    or the transpose of a row-major matrix; one that lies otherwise is copied. By ``torch.mm`` where
    not, and in all transforms of ``torch.func`` and under forward AD: the kernels' product has
    reverse gradients alone. Under autocast both are cast to its type, as by ``torch.mm``.

    Products of one stream share a workspace, which CUDA graphs keep using: two graphs captured on
    one stream must not be replayed at the same time.
    """
    if torch.compiler.is_compiling() or torch.overrides.has_torch_function_variadic(a, b):
        return OPERATOR(a, b)
    product: Tensor = _DIRECT(a, b)
    return product


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
        return y if self.bias is None else y + self.bias.to(y.dtype)  # under autocast it differs


def replace_linears(model: nn.Module, *, every: bool = False) -> nn.Module:
    """Put ``Linear`` in the place of each ``nn.Linear`` that gains by it, and return the model.

    Those gain of which ``in_features`` or ``out_features`` is no multiple of 8, where rows begin
    off the 16 bytes that TMA needs. ``every``: all others too. A layer given as the model is
    returned replaced.
    """
    if isinstance(model, nn.Linear):
        gains = model.in_features % CHUNK or model.out_features % CHUNK
        return Linear(model) if every or gains else model
    for name, child in model.named_children():
        replaced = replace_linears(child, every=every)
        if replaced is not child:
            setattr(model, name, replaced)
    return model
