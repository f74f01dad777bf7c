"""The cross entropy's kernel: a row of logits becomes its gradient in place, read twice."""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 4096
_WARPS = 16


@triton.jit
def _kernel(logits, targets, losses, scale, stride, columns, block: tl.constexpr):  # noqa: ANN001, ANN202
    row = tl.program_id(0).to(tl.int64)
    base = logits + row * stride
    target = tl.load(targets + row)
    most = float("-inf")
    total = 0.0
    for start in range(0, columns, block):
        at = start + tl.arange(0, block)
        x = tl.load(base + at, mask=at < columns, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(most, tl.max(x, axis=0))
        total = total * tl.exp(most - higher) + tl.sum(tl.exp(x - higher), axis=0)
        most = higher
    log_sum = most + tl.log(total)
    own = tl.load(base + target).to(tl.float32)
    tl.store(losses + row, log_sum - own)
    tl.debug_barrier()  # all have read the target's logit before it is overwritten
    for start in range(0, columns, block):
        at = start + tl.arange(0, block)
        x = tl.load(base + at, mask=at < columns, other=float("-inf")).to(tl.float32)
        gradient = (tl.exp(x - log_sum) - tl.where(at == target, 1.0, 0.0)) * scale
        tl.store(base + at, gradient.to(logits.dtype.element_ty), mask=at < columns)


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
