"""A rank's part of the layer stack, and one decode step of it."""

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from exchange import Exchange
from operations import Plain, norm
from ranks import RANKS
from sharding import Layer, part, whole
from torch import Tensor
from workloads.decoder import Shape, rotate, rotations


class Stack:
    """``layers`` layers of a shape, a rank's part of each, and what one step of them computes.

    A step is the decode of one token for each sequence of the batch, the last one that the cache
    has room for, so it attends to all of the cache. The same input gives the same output again.
    """

    def __init__(
        self, shape: Shape, sizes: tuple[int, int, int], rank: int, device: str, operations: Plain
    ) -> None:
        layers, self.batch, self._context = sizes
        self._operations = operations
        self._layers = [
            part(whole(shape, number, self.batch, self._context, device), shape, rank, RANKS)
            for number in range(layers)
        ]
        self._rope = rotations(self._context, shape.head)[-1].to(device).contiguous()
        self.x = torch.zeros(self.batch, shape.width, dtype=torch.bfloat16, device=device)
        self._residual = torch.zeros_like(self.x)

    def step(self, exchange: Exchange) -> Tensor:
        """Return the normed hidden states, [batch, width], of the input ``x``."""
        residual = self._residual.copy_(self.x)
        layers = self._layers
        y = norm(residual, layers[0].attention_norm)
        for number, layer in enumerate(layers):
            y = exchange(self._attended(y, layer), layer.out, residual, layer.feed_norm)
            following = layers[(number + 1) % len(layers)].attention_norm
            fed = self._operations.swiglu(F.linear(y, layer.gate_up))
            y = exchange(fed, layer.down, residual, following)
        return y

    def _attended(self, y: Tensor, layer: Layer) -> Tensor:
        """Return the attention of this rank's heads, [batch, heads head]."""
        position = self._context - 1
        qkv = F.linear(y, layer.qkv)
        queries = self._operations.rope_store(qkv, layer, self._rope, position)
        # The queries that share a key head stand where positions would: all see the whole cache.
        return F.scaled_dot_product_attention(queries, layer.keys, layer.values).flatten(1)


def reference(shape: Shape, sizes: tuple[int, int, int], x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the output of the whole, unsharded stack for x in ``dtype``, [batch, width].

    It shares no code with ``Stack.step`` but the weights and RoPE.
    """
    layers, batch, context = sizes
    device = x.device.type
    cos_sin = rotations(context, shape.head)[-1:].to(device)
    group = shape.heads // shape.kv_heads
    h = x.to(dtype)
    first = whole(shape, 0, batch, context, device).attention_norm
    for number in range(layers):
        layer = whole(shape, number, batch, context, device)
        y = _normed(h, layer.attention_norm)
        heads = (y @ layer.qkv.to(dtype).t()).view(batch, 1, -1, shape.head)
        q, k, v = heads.split([shape.heads, shape.kv_heads, shape.kv_heads], dim=2)
        keys, values = layer.keys.to(dtype), layer.values.to(dtype)
        keys[:, :, -1] = rotate(k, cos_sin)[:, 0]
        values[:, :, -1] = v[:, 0]
        keys, values = (each.repeat_interleave(group, 1) for each in (keys, values))
        scores = torch.einsum("bhd,bhtd->bht", rotate(q, cos_sin)[:, 0], keys) / shape.head**0.5
        seen = torch.einsum("bht,bhtd->bhd", scores.softmax(-1), values)
        h = h + seen.flatten(1) @ layer.out.to(dtype).t()
        gate, up = (_normed(h, layer.feed_norm) @ layer.gate_up.to(dtype).t()).chunk(2, -1)
        h = h + (F.silu(gate) * up) @ layer.down.to(dtype).t()
    return _normed(h, first)


def _normed(h: Tensor, weight: Tensor) -> Tensor:
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-5) * weight.to(h.dtype)
