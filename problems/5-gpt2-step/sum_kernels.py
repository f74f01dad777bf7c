"""Kernels that hold a gradient's rows and add them up: for biases and norms' weights.

Each block leaves float32 sums of the rows it holds; a sum over blocks remains.
"""

from functools import cache

import torch
import triton
import triton.language as tl
from any_shape import ELEMENT_BYTES, MAX_SHARED
from cuda_kernel import CudaKernel, plain_step
from torch import Tensor

_ROWS_OF_PART = 64
"""Rows that a program of ``_pack`` adds up."""
_ROWS, _WARPS = 2, 4
"""Rows of its tile, and its warps."""
_NORM_WARPS, _NORM_STAGES = 10, 4
"""Of a block of norm_backward.cu: warps, and rows at most that TMA fetches for each."""
_BARRIER_BYTES = 8


@triton.jit
def _pack(  # noqa: ANN202
    of_q,  # noqa: ANN001
    of_k,  # noqa: ANN001
    of_v,  # noqa: ANN001
    packed,  # noqa: ANN001
    parts,  # noqa: ANN001
    q_strides,  # noqa: ANN001
    k_strides,  # noqa: ANN001
    v_strides,  # noqa: ANN001
    tokens,  # noqa: ANN001
    width,  # noqa: ANN001
    size: tl.constexpr,
    of_part: tl.constexpr,
    tall: tl.constexpr,
    wide: tl.constexpr,
):
    """``size``: elements of a head; ``of_part`` divides the tokens of a sequence."""
    which = tl.program_id(1)
    if which == 0:
        _pack_one(of_q, q_strides, packed, parts, 0, tokens, width, size, of_part, tall, wide)
    elif which == 1:
        _pack_one(of_k, k_strides, packed, parts, 1, tokens, width, size, of_part, tall, wide)
    else:
        _pack_one(of_v, v_strides, packed, parts, 2, tokens, width, size, of_part, tall, wide)


@triton.jit
def _pack_one(  # noqa: ANN202
    source,  # noqa: ANN001
    strides,  # noqa: ANN001
    packed,  # noqa: ANN001
    parts,  # noqa: ANN001
    which,  # noqa: ANN001
    tokens,  # noqa: ANN001
    width,  # noqa: ANN001
    size: tl.constexpr,
    of_part: tl.constexpr,
    tall: tl.constexpr,
    wide: tl.constexpr,
):
    column = tl.arange(0, wide)
    known = (column < width)[None, :]
    first = tl.program_id(0) * of_part
    begin = source + (first // tokens).to(tl.int64) * strides[0]
    across = (column // size) * strides[1] + column % size
    sums = tl.zeros((wide,), tl.float32)
    for start in range(0, of_part, tall):
        row = first + start + tl.arange(0, tall)
        at = (row % tokens)[:, None] * strides[2] + across[None, :]
        g = tl.load(begin + at, mask=known, other=0.0)
        to = row.to(tl.int64)[:, None] * 3 * width + which * width + column[None, :]
        tl.store(packed + to, g, mask=known)
        sums += tl.sum(g.to(tl.float32), axis=0)
    to = (tl.program_id(0) * 3 + which) * width + column
    tl.store(parts + to, sums, mask=column < width)


@cache
def norm_kernel(width: int) -> CudaKernel:
    """Return the norm's kernel for rows of so many elements, a multiple of 256."""
    stage_bytes = _NORM_WARPS * (3 * ELEMENT_BYTES * width + _BARRIER_BYTES)
    stages = min(_NORM_STAGES, MAX_SHARED // stage_bytes)
    shared_bytes = stages * stage_bytes
    macros = {"WIDTH": width, "STAGES": stages}
    return CudaKernel(plain_step("norm_backward", 32 * _NORM_WARPS, shared_bytes, **macros))


@torch.library.custom_op("worklogs::norm_backward", mutates_args=())
def norm_backward(
    of_sum: Tensor, of_normed: Tensor, x: Tensor, mean: Tensor, inverse: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradient of x [N, width], and float32 parts [P, 3, width] of three sums over N.

    They are the gradients of the norm's weight and bias, and of a bias that was added to x.
    ``of_sum``, ``of_normed``: gradients of x and of its norm; ``mean`` and ``inverse`` (of the
    standard deviation): [N], float32.
    """
    rows, width = x.shape
    of_x, parts = torch.empty_like(x), _norm_parts(x)
    tensors = [each.contiguous() for each in (of_sum, of_normed, x, mean, inverse, weight)]
    norm_kernel(width)(len(parts), *tensors, of_x, parts, rows)
    return of_x, parts


@norm_backward.register_fake
def _(
    of_sum: Tensor,  # noqa: ARG001
    of_normed: Tensor,  # noqa: ARG001
    x: Tensor,
    mean: Tensor,  # noqa: ARG001
    inverse: Tensor,  # noqa: ARG001
    weight: Tensor,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), _norm_parts(x)


@torch.library.custom_op("worklogs::pack_heads", mutates_args=())
def pack_heads(of_q: Tensor, of_k: Tensor, of_v: Tensor) -> tuple[Tensor, Tensor]:
    """Return gradients [B, H, T, D] as rows [B · T, 3 · H · D], and float32 parts of their sum.

    The elements of a head are contiguous; T is a multiple of 64. The parts are [P, 3, H · D].
    """
    batch, heads, tokens, size = of_q.shape
    rows, width = batch * tokens, heads * size
    packed = of_q.new_empty(rows, 3 * width)
    parts = _parts(packed, width)
    strides = [each.stride()[:3] for each in (of_q, of_k, of_v)]
    sizes = {"of_part": _ROWS_OF_PART, "tall": _ROWS, "wide": triton.next_power_of_2(width)}
    with torch.cuda.device(packed.device):
        _pack[(len(parts), 3)](
            *(of_q, of_k, of_v, packed, parts),
            *strides,
            *(tokens, width, size),
            **sizes,
            num_warps=_WARPS,
        )
    return packed, parts


@pack_heads.register_fake
def _(of_q: Tensor, of_k: Tensor, of_v: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG001
    batch, heads, tokens, size = of_q.shape
    packed = of_q.new_empty(batch * tokens, 3 * heads * size)
    return packed, _parts(packed, heads * size)


def _norm_parts(x: Tensor) -> Tensor:
    """Return memory for the sums of each block; a multiprocessor holds one."""
    blocks = torch.cuda.get_device_properties(x.device).multi_processor_count
    return torch.empty(blocks, 3, x.shape[1], dtype=torch.float32, device=x.device)


def _parts(x: Tensor, width: int) -> Tensor:
    count = -(-x.shape[0] // _ROWS_OF_PART)
    return torch.empty(count, 3, width, dtype=torch.float32, device=x.device)
