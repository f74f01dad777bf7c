"""Gradients of norms and biases, each summed by the kernel that holds its rows.

A bias's gradient is a sum over all rows of its layer's output; torch.compile reads those rows once
more for it. Here the norm's backward pass leaves it for the layer before the residual addition, and
the pass that puts gradients of queries, keys and values side by side leaves it for their layer.
"""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from gpt2 import GPT2, Attention
from torch import Tensor, nn


class _AddNorm(torch.autograd.Function):
    """x + y + bias, and its norm."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor, bias: Tensor, weight: Tensor, shift: Tensor, eps: float
    ) -> tuple[Tensor, Tensor]:
        """x, y: [N, width]; bias, and the norm's weight and shift: [width]."""
        total = x + y + bias
        normed, mean, inverse = torch.native_layer_norm(total, weight.shape, weight, shift, eps)
        ctx.save_for_backward(total, mean, inverse, weight)
        return total, normed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, y, bias, weight and shift."""
        of_x, of_bias, of_weight, of_shift = norm_gradients(gradients, *ctx.saved_tensors)
        return of_x, of_x, of_bias, of_weight, of_shift, None


def norm_gradients(
    gradients: tuple[Tensor, ...], total: Tensor, mean: Tensor, inverse: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of ``total``, of a bias added to it, and of its norm's weight and shift.

    ``gradients``: of total and of its norm, [N, width].
    """
    from sum_kernels import norm_backward

    rows = total.shape[0]
    of_x, parts = norm_backward(*gradients, total, mean.view(rows), inverse.view(rows), weight)
    of_weight, of_shift, of_bias = parts.sum(0).to(weight.dtype)
    return of_x, of_bias, of_weight, of_shift


class Heads(torch.autograd.Function):
    """x @ weight^T + bias, as queries, keys and values."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """x: [B, T, width]; returns views [B, heads, T, width / heads]."""
        ctx.save_for_backward(x, weight)
        return split(F.linear(x, weight, bias), heads)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, weight and bias."""
        from sum_kernels import pack_heads

        x, weight = ctx.saved_tensors
        packed, parts = pack_heads(*gradients)
        of_bias = parts.sum(0).flatten().to(weight.dtype)
        of_weight = torch.mm(packed.t(), x.flatten(0, 1))
        return torch.mm(packed, weight).view(x.shape), of_weight, of_bias, None


def split(packed: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return views [B, heads, T, width / heads] of queries, keys and values [B, T, 3 width]."""
    batch, tokens, _ = packed.shape
    parts = packed.view(batch, tokens, 3, heads, -1)
    q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
    return q, k, v


def fuse(model: GPT2) -> None:
    """Let a model whose linear layers are the kernels' sum its gradients so."""
    for block in model.blocks:
        block.attention.out.biased = block.down.biased = False
    model.trunk = partial(trunk, model)  # type: ignore[method-assign]


def trunk(model: GPT2, tokens: Tensor) -> Tensor:
    """Return what ``GPT2.trunk`` does: each addition is one with the norm after it."""
    x = model.tokens(tokens) + model.positions.weight[: tokens.shape[1]]
    normed = model.blocks[0].norm_1(x)
    for block, norm in zip(model.blocks, norms_after(model), strict=True):
        y = _attention(block.attention, normed)
        x, normed = _add_norm(x, y, block.attention.out.bias, block.norm_2)
        y = block.down(block.gelu(block.up(normed)))
        x, normed = _add_norm(x, y, block.down.bias, norm)
    return normed


def norms_after(model: GPT2) -> list[nn.LayerNorm]:
    """Return the norm that follows each block."""
    return [*(block.norm_1 for block in model.blocks[1:]), model.norm]


def _attention(attention: Attention, x: Tensor) -> Tensor:
    if not x.is_cuda:
        return attention(x)
    return attention.out(attended(attention, x, Heads))


def attended(attention: Attention, x: Tensor, heads: type[Heads]) -> Tensor:
    """Return what attention's last layer takes, [B, T, width]."""
    qkv = attention.qkv
    q, k, v = heads.apply(x, qkv.weight, qkv.bias, attention.heads)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return y.transpose(1, 2).reshape(x.shape)


def _add_norm(x: Tensor, y: Tensor, bias: Tensor, norm: nn.LayerNorm) -> tuple[Tensor, Tensor]:
    if not x.is_cuda:
        x = x + y + bias
        return x, norm(x)
    total, normed = _AddNorm.apply(
        x.flatten(0, 1), y.flatten(0, 1), bias, norm.weight, norm.bias, norm.eps
    )
    return total.view(x.shape), normed.view(x.shape)
