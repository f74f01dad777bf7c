"""AdamW's kernel: reads gradient, master and moments once, writes master, moments and weight."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 4096


@triton.jit
def _kernel(  # noqa: ANN202
    weight,  # noqa: ANN001
    gradient,  # noqa: ANN001
    master,  # noqa: ANN001
    mean,  # noqa: ANN001
    square,  # noqa: ANN001
    step,  # noqa: ANN001
    highest_lr,  # noqa: ANN001
    warmup_steps,  # noqa: ANN001
    beta_1,  # noqa: ANN001
    beta_2,  # noqa: ANN001
    eps,  # noqa: ANN001
    decay,  # noqa: ANN001
    count,  # noqa: ANN001
    block: tl.constexpr,
):
    at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    inside = at < count
    done = tl.load(step)
    lr = highest_lr * tl.minimum(done / warmup_steps, 1.0)
    g = tl.load(gradient + at, mask=inside, other=0.0).to(tl.float32)
    m = tl.load(mean + at, mask=inside, other=0.0)
    v = tl.load(square + at, mask=inside, other=0.0)
    w = tl.load(master + at, mask=inside, other=0.0)
    m = beta_1 * m + (1 - beta_1) * g
    v = beta_2 * v + (1 - beta_2) * g * g
    unbiased = m / (1 - tl.exp(done * tl.log(beta_1)))
    root = tl.sqrt(v / (1 - tl.exp(done * tl.log(beta_2)))) + eps
    w = w * (1 - lr * decay) - lr * unbiased / root
    tl.store(mean + at, m, mask=inside)
    tl.store(square + at, v, mask=inside)
    tl.store(master + at, w, mask=inside)
    tl.store(weight + at, w.to(weight.dtype.element_ty), mask=inside)


def update(weight: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Any) -> None:
    """Update a weight, its master and its moments, all of one shape, contiguous."""
    beta_1, beta_2 = group["betas"]
    count = weight.numel()
    with torch.cuda.device(weight.device):
        _kernel[(triton.cdiv(count, _BLOCK),)](
            weight,
            gradient.contiguous(),
            state["master"],
            state["mean"],
            state["square"],
            state["step"],
            group["lr"],
            float(group["warmup_steps"]),
            beta_1,
            beta_2,
            group["eps"],
            group["weight_decay"],
            count,
            block=_BLOCK,
        )
