"""Blocks whose biases, GELU and residual additions are part of the products before them.

GELU's kernels and the additions read what a product has just written, and write it again. A product
that does their work while it holds its sums moves those bytes once; see fused_product.cu.
"""

from functools import partial
from typing import Any

import torch
from gpt2 import GPT2
from products import product
from sums import Heads, attended, norm_gradients, norms_after, split, trunk
from torch import Tensor


class _Heads(Heads):
    """As its base; the product adds the bias."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """x: [B, T, width]; returns views [B, heads, T, width / heads]."""
        from fused_product import product_bias

        ctx.save_for_backward(x, weight)
        packed = product_bias(x.flatten(0, 1), weight, bias)
        return split(packed.unflatten(0, x.shape[:2]), heads)


class _OutNorm(torch.autograd.Function):
    """x + y @ weight^T + bias, and its norm."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        weight: Tensor,
        bias: Tensor,
        norm_weight: Tensor,
        shift: Tensor,
        eps: float,
    ) -> tuple[Tensor, Tensor]:
        """x, y: [N, width]; weight: [width, width]; all others: [width]."""
        from fused_product import product_add

        total = product_add(y, weight, bias, x)
        normed, *known = torch.native_layer_norm(total, bias.shape, norm_weight, shift, eps)
        ctx.save_for_backward(y, weight, total, *known, norm_weight)
        return total, normed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, y, weight, bias and the norm's weight and shift."""
        y, weight, *norm = ctx.saved_tensors
        of_total, *of_rows = norm_gradients(gradients, *norm)
        of_y, of_weight = product(of_total, weight), product(of_total.t(), y)
        return of_total, of_y, of_weight, *of_rows, None


class _FeedForwardNorm(torch.autograd.Function):
    """x + GELU(y @ up^T + up_bias) @ down^T + down_bias, and its norm."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        up: Tensor,
        up_bias: Tensor,
        down: Tensor,
        down_bias: Tensor,
        norm_weight: Tensor,
        shift: Tensor,
        eps: float,
    ) -> tuple[Tensor, Tensor]:
        """x, y: [N, width]; up: [4 width, width]; down: [width, 4 width]."""
        from fused_product import product_add, product_gelu

        derivative, activated = product_gelu(y, up, up_bias)
        total = product_add(activated, down, down_bias, x)
        normed, *known = torch.native_layer_norm(total, down_bias.shape, norm_weight, shift, eps)
        ctx.save_for_backward(y, up, derivative, activated, down, total, *known, norm_weight)
        return total, normed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, y, the two weights with their biases, and the norm's."""
        from fused_product import product_scale

        y, up, derivative, activated, down, *norm = ctx.saved_tensors
        of_total, *of_rows = norm_gradients(gradients, *norm)
        of_u, parts = product_scale(of_total, down, derivative)
        of_down = product(of_total.t(), activated)
        of_up = product(of_u.t(), y)
        of_up_bias = parts.sum(0).to(up.dtype)
        return of_total, product(of_u, up), of_up, of_up_bias, of_down, *of_rows, None


def fuse(model: GPT2) -> None:
    """Let a model of which ``sums`` has fused the norms do its element-wise work in epilogues."""
    model.trunk = partial(_trunk, model)  # type: ignore[method-assign]


def _trunk(model: GPT2, tokens: Tensor) -> Tensor:
    """Return what ``GPT2.trunk`` does."""
    if not tokens.is_cuda:
        return trunk(model, tokens)
    x = model.tokens(tokens) + model.positions.weight[: tokens.shape[1]]
    normed, x = model.blocks[0].norm_1(x), x.flatten(0, 1)
    for block, norm in zip(model.blocks, norms_after(model), strict=True):
        out, up, down, middle = block.attention.out, block.up, block.down, block.norm_2
        y = attended(block.attention, normed, _Heads).flatten(0, 1)
        x, y = _OutNorm.apply(x, y, out.weight, out.bias, middle.weight, middle.bias, middle.eps)
        weights = (up.weight, up.bias, down.weight, down.bias)
        x, y = _FeedForwardNorm.apply(x, y, *weights, norm.weight, norm.bias, norm.eps)
        normed = y.unflatten(0, tokens.shape)
    return normed
