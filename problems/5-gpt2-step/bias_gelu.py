"""GELU with the bias before it: one kernel forward, one backward that leaves the bias's gradient.

torch.compile needs two kernels backward, each of which reads both tensors and computes GELU's
gradient: one stores that gradient, the other adds it up over the rows.
"""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from gpt2 import GPT2
from products import Linear
from torch import Tensor, nn


class _BiasGelu(torch.autograd.Function):
    """GELU(x + bias); the forward pass keeps x alone."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        """x: [N, columns], bias: [columns]."""
        from gelu_kernel import forward

        ctx.save_for_backward(x, bias)
        return forward(x, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of x and bias."""
        from gelu_kernel import backward

        x, bias = ctx.saved_tensors
        of_x, parts = backward(gradients[0].contiguous(), x, bias)
        return of_x, parts.sum(0).to(bias.dtype)


class BiasGelu(nn.Module):
    """Adds the bias of the layer before it, which leaves that out, and applies GELU by tanh."""

    def __init__(self, linear: Linear) -> None:
        super().__init__()
        linear.biased = False
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """Take and return [..., columns]."""
        if not x.is_cuda:
            return F.gelu(x + self.bias, approximate="tanh")
        return _BiasGelu.apply(x.flatten(0, -2), self.bias).unflatten(0, x.shape[:-1])


def fuse(model: GPT2) -> None:
    """Put ``BiasGelu`` after each block's first layer of the feed-forward."""
    for block in model.blocks:
        block.gelu = BiasGelu(block.up)
