"""GELU's kernels: bias and activation in one pass, both of their gradients in another.

GELU by tanh (Hendrycks and Gimpel 2016) is u · (1 + tanh z) / 2 = u · sigmoid(2z), where
z = √(2/π) (u + 0.044715 u³).
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

_COLUMNS = 512
_ROWS_FORWARD, _ROWS = 4, 2
"""Columns and rows of a program's tile: 16 bytes for each thread of four warps, twice forward."""
_ROWS_OF_PART = 64
"""Rows whose gradients a program adds before it leaves their sum."""
_TWICE_ROOT = tl.constexpr(2 * math.sqrt(2 / math.pi))
_CUBIC = tl.constexpr(0.044715)


@triton.jit
def _share(u):  # noqa: ANN001, ANN202
    """Return sigmoid(2z)."""
    return tl.sigmoid(_TWICE_ROOT * (u + _CUBIC * u * u * u))


@triton.jit
def _forward(x, bias, y, rows, columns, tall: tl.constexpr, wide: tl.constexpr):  # noqa: ANN001, ANN202
    row = tl.program_id(1) * tall + tl.arange(0, tall)
    column = tl.program_id(0) * wide + tl.arange(0, wide)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    at = row.to(tl.int64)[:, None] * columns + column[None, :]
    add = tl.load(bias + column, mask=column < columns, other=0.0).to(tl.float32)
    u = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) + add[None, :]
    tl.store(y + at, (u * _share(u)).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _backward(  # noqa: ANN202
    of_y,  # noqa: ANN001
    x,  # noqa: ANN001
    bias,  # noqa: ANN001
    of_x,  # noqa: ANN001
    parts,  # noqa: ANN001
    rows,  # noqa: ANN001
    columns,  # noqa: ANN001
    of_part: tl.constexpr,
    tall: tl.constexpr,
    wide: tl.constexpr,
):
    column = tl.program_id(0) * wide + tl.arange(0, wide)
    add = tl.load(bias + column, mask=column < columns, other=0.0).to(tl.float32)
    sums = tl.zeros((tall, wide), tl.float32)
    for start in range(0, of_part, tall):
        row = tl.program_id(1) * of_part + start + tl.arange(0, tall)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        at = row.to(tl.int64)[:, None] * columns + column[None, :]
        g = tl.load(of_y + at, mask=inside, other=0.0).to(tl.float32)
        u = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) + add[None, :]
        share = _share(u)
        steepness = _TWICE_ROOT * (1 + 3 * _CUBIC * u * u)
        g = (g * share * (1 + u * (1 - share) * steepness)).to(of_x.dtype.element_ty)
        tl.store(of_x + at, g, mask=inside)
        sums += g.to(tl.float32)
    to = tl.program_id(1) * columns + column
    tl.store(parts + to, tl.sum(sums, axis=0), mask=column < columns)


@torch.library.custom_op("worklogs::bias_gelu", mutates_args=())
def forward(x: Tensor, bias: Tensor) -> Tensor:
    """Return GELU(x + bias) for contiguous x [N, columns] and bias [columns]."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(columns, _COLUMNS), triton.cdiv(rows, _ROWS_FORWARD))
    with torch.cuda.device(x.device):
        _forward[grid](x, bias, y, rows, columns, tall=_ROWS_FORWARD, wide=_COLUMNS)
    return y


@forward.register_fake
def _(x: Tensor, bias: Tensor) -> Tensor:  # noqa: ARG001 - the operator's signature
    return torch.empty_like(x)


@torch.library.custom_op("worklogs::bias_gelu_backward", mutates_args=())
def backward(of_y: Tensor, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradient of x [N, columns], and float32 parts of the bias's, a row for 64 rows."""
    rows, columns = x.shape
    count = triton.cdiv(rows, _ROWS_OF_PART)
    of_x, parts = torch.empty_like(x), _parts(x)
    grid = (triton.cdiv(columns, _COLUMNS), count)
    sizes = {"of_part": _ROWS_OF_PART, "tall": _ROWS, "wide": _COLUMNS}
    with torch.cuda.device(x.device):
        _backward[grid](of_y, x, bias, of_x, parts, rows, columns, **sizes)
    return of_x, parts


@backward.register_fake
def _(of_y: Tensor, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG001
    return torch.empty_like(x), _parts(x)


def _parts(x: Tensor) -> Tensor:
    count = -(-x.shape[0] // _ROWS_OF_PART)
    return torch.empty(count, x.shape[1], dtype=torch.float32, device=x.device)
