"""The cross entropy's kernel: a row of logits becomes its gradient in place, read twice.

Each of a program's elements keeps a maximum and a sum of its own (Milakov and Gimelshein 2018,
"Online normalizer calculation for softmax"), so threads wait for each other once a row. The caches
are told what is read again: the row, from its first reading to its second.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 4096
_WARPS = 16
_LOWEST = tl.constexpr(-1e30)
"""Below any logit, and finite: two infinities have no difference."""


@triton.jit
def _kernel(logits, targets, losses, scale, stride, columns, block: tl.constexpr):  # noqa: ANN001, ANN202
    row = tl.program_id(0).to(tl.int64)
    base = logits + row * stride
    target = tl.load(targets + row)
    own = tl.load(base + target).to(tl.float32)
    most = tl.full((block,), _LOWEST, tl.float32)
    total = tl.zeros((block,), tl.float32)
    for start in range(0, columns, 2 * block):
        at = start + tl.arange(0, block)
        x = _row(base, at, columns, "evict_last")
        z = _row(base, at + block, columns, "evict_last")
        higher = tl.maximum(most, tl.maximum(x, z))
        total = total * tl.exp(most - higher) + tl.exp(x - higher) + tl.exp(z - higher)
        most = higher
    highest = tl.max(most, axis=0)
    log_sum = highest + tl.log(tl.sum(total * tl.exp(most - highest), axis=0))
    tl.store(losses + row, log_sum - own)
    tl.debug_barrier()  # all have read the target's logit before it is overwritten
    for start in range(0, columns, block):
        at = start + tl.arange(0, block)
        x = _row(base, at, columns, "evict_first")
        gradient = (tl.exp(x - log_sum) - tl.where(at == target, 1.0, 0.0)) * scale
        to = gradient.to(logits.dtype.element_ty)
        tl.store(base + at, to, mask=at < columns, cache_modifier=".cs")


@triton.jit
def _row(base, at, columns, kept: tl.constexpr):  # noqa: ANN001, ANN202
    """Return elements of a row in float32; ``kept``: how long caches shall keep them."""
    inside = at < columns
    return tl.load(base + at, mask=inside, other=float("-inf"), eviction_policy=kept).to(tl.float32)


@triton.jit
def _scale(values, factor, count, block: tl.constexpr):  # noqa: ANN001, ANN202
    by = tl.load(factor)
    if by != 1.0:
        at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
        scaled = tl.load(values + at, mask=at < count).to(tl.float32) * by
        tl.store(values + at, scaled.to(values.dtype.element_ty), mask=at < count)


def scale_in_place(values: Tensor, factor: Tensor) -> None:
    """Multiply contiguous values by a float32 factor; nothing is read or written if it is 1."""
    with torch.cuda.device(values.device):
        grid = (triton.cdiv(values.numel(), _BLOCK),)
        _scale[grid](values, factor, values.numel(), block=_BLOCK)


def to_gradient(logits: Tensor, targets: Tensor, losses: Tensor, scale: float) -> None:
    """Turn logits [n, rows] into ``scale`` times their loss's gradient; write the losses [n]."""
    rows, columns = logits.shape
    with torch.cuda.device(logits.device):
        _kernel[(rows,)](
            logits,
            targets,
            losses,
            scale,
            logits.stride(0),
            columns,
            block=_BLOCK,
            num_warps=_WARPS,
        )
