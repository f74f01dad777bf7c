"""A Llama-shaped decoder: real dimensions, random weights made on the device, nothing downloaded.

The layout (fused QKV, static KV cache, decode of one token as one graph) follows GPT-Fast, which
the published figures were made with (github.com/pytorch-labs/gpt-fast). Dimensions are those of the
models' published configurations. Weights and caches are bfloat16, the tables of RoPE float32.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Dimensions of a decoder, in elements; ``head`` is the width of one attention head."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    vocabulary: int

    @property
    def head(self) -> int:
        """Return the width of one attention head."""
        return self.width // self.heads


CacheLayout = Literal["split", "stacked"]
"""Keys and values in two buffers a layer, each written and read by kernels of its own, or in one.

The layouts compute the same and differ in launches and in storages, which is what problems count.
"""

SHAPES = {
    "llama-3.1-8b": Shape(32, 4096, 32, 8, 14336, 128256),
    "llama-3.2-3b": Shape(28, 3072, 24, 8, 8192, 128256),
    "llama-tiny": Shape(2, 256, 8, 2, 512, 1024),
}


class SplitCache(nn.Module):
    """Keys and values of every position, each [1, kv_heads, context, head]."""

    def __init__(self, shape: Shape, context: int) -> None:
        super().__init__()
        for name in ("keys", "values"):
            empty = torch.zeros(1, shape.kv_heads, context, shape.head, dtype=torch.bfloat16)
            self.register_buffer(name, empty, persistent=False)

    def store(self, k: Tensor, v: Tensor, position: Tensor) -> None:
        """Write k and v, [1, T, kv_heads, head], at ``position``, [T]."""
        self.keys[:, :, position] = k.transpose(1, 2)
        self.values[:, :, position] = v.transpose(1, 2)

    def repeated(self, times: int) -> tuple[Tensor, Tensor]:
        """Return all keys and all values, [1, times * kv_heads, context, head]."""
        keys = self.keys.repeat_interleave(times, dim=1)
        return keys, self.values.repeat_interleave(times, dim=1)


class StackedCache(nn.Module):
    """Keys, then values of every position, [2, 1, kv_heads, context, head]."""

    def __init__(self, shape: Shape, context: int) -> None:
        super().__init__()
        empty = torch.zeros(2, 1, shape.kv_heads, context, shape.head, dtype=torch.bfloat16)
        self.register_buffer("both", empty, persistent=False)

    def store(self, k: Tensor, v: Tensor, position: Tensor) -> None:
        """Write k and v, [1, T, kv_heads, head], at ``position``, [T]."""
        self.both[0, :, :, position] = k.transpose(1, 2)
        self.both[1, :, :, position] = v.transpose(1, 2)

    def repeated(self, times: int) -> tuple[Tensor, Tensor]:
        """Return all keys and all values, [1, times * kv_heads, context, head]."""
        keys, values = self.both.repeat_interleave(times, dim=2)
        return keys, values


class Attention(nn.Module):
    """Grouped-query attention over a static key-value cache."""

    def __init__(self, shape: Shape, context: int, cache: CacheLayout) -> None:
        super().__init__()
        self.shape = shape
        self.qkv = linear(shape.width, shape.width + 2 * shape.kv_heads * shape.head)
        self.out = linear(shape.width, shape.width)
        self.cache = (SplitCache if cache == "split" else StackedCache)(shape, context)

    def forward(self, x: Tensor, rope: Tensor, mask: Tensor, position: Tensor) -> Tensor:
        """x: [1, T, width]; rope: [T, head/2, 2]; mask: [1, 1, T, context]; position: [T]."""
        s, tokens = self.shape, x.shape[1]
        heads = self.qkv(x).view(1, tokens, s.heads + 2 * s.kv_heads, s.head)
        q, k, v = heads.split([s.heads, s.kv_heads, s.kv_heads], dim=2)
        self.cache.store(rotate(k, rope), v, position)
        keys, values = self.cache.repeated(s.heads // s.kv_heads)
        q = rotate(q, rope).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(1, tokens, s.width))


class Block(nn.Module):
    """Pre-norm attention and SwiGLU feed-forward."""

    def __init__(self, shape: Shape, context: int, cache: CacheLayout) -> None:
        super().__init__()
        self.attention = Attention(shape, context, cache)
        self.attention_norm = nn.RMSNorm(shape.width, eps=1e-5, dtype=torch.bfloat16)
        self.feed_norm = nn.RMSNorm(shape.width, eps=1e-5, dtype=torch.bfloat16)
        self.gate = linear(shape.width, shape.hidden)
        self.up = linear(shape.width, shape.hidden)
        self.down = linear(shape.hidden, shape.width)

    def forward(self, x: Tensor, rope: Tensor, mask: Tensor, position: Tensor) -> Tensor:
        """Take and return [1, T, width]; the rest as for attention."""
        x = x + self.attention(self.attention_norm(x), rope, mask, position)
        y = self.feed_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """Token ids in, logits of the last position out."""

    def __init__(self, shape: Shape, context: int, cache: CacheLayout) -> None:
        super().__init__()
        self.embedding = nn.Embedding(shape.vocabulary, shape.width, dtype=torch.bfloat16)
        self.blocks = nn.ModuleList(Block(shape, context, cache) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, eps=1e-5, dtype=torch.bfloat16)
        self.head = linear(shape.width, shape.vocabulary)
        causal = torch.ones(context, context, dtype=torch.bool)
        self.register_buffer("causal", causal, persistent=False)
        self.register_buffer("rope", rotations(context, shape.head), persistent=False)

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        """tokens: [1, T] int; position: [T] int; returns logits [1, vocabulary]."""
        x, rope, mask = self.enter(tokens, position)
        for block in self.blocks:
            x = block(x, rope, mask, position)
        return self.leave(x)

    def enter(self, tokens: Tensor, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the inputs of the first block: x [1, T, width], rope and mask as for attention."""
        return self.embedding(tokens), self.rope[position], self.causal[None, None, position]

    def leave(self, x: Tensor) -> Tensor:
        """Return the logits [1, vocabulary] of the last position of x, [1, T, width]."""
        return self.head(self.norm(x[:, -1]))


def linear(inputs: int, outputs: int) -> nn.Linear:
    """Return a bfloat16 linear layer without a bias."""
    return nn.Linear(inputs, outputs, bias=False, dtype=torch.bfloat16)


def rotations(context: int, head: int, base: float = 500_000.0) -> Tensor:
    """Return cos and sin of RoPE's angles, [context, head/2, 2] (base: Llama 3's configuration)."""
    frequency = base ** -(torch.arange(0, head, 2, dtype=torch.float32) / head)
    angle = torch.outer(torch.arange(context, dtype=torch.float32), frequency)
    return torch.stack([angle.cos(), angle.sin()], dim=-1)


def rotate(x: Tensor, rope: Tensor) -> Tensor:
    """Apply RoPE to x [1, T, heads, head]; in float32, as the reference does."""
    pairs = x.float().unflatten(-1, (-1, 2))
    cos, sin = rope[None, :, None, :, 0], rope[None, :, None, :, 1]
    real = pairs[..., 0] * cos - pairs[..., 1] * sin
    imaginary = pairs[..., 1] * cos + pairs[..., 0] * sin
    return torch.stack([real, imaginary], dim=-1).flatten(-2).to(x.dtype)


def build(name: str, context: int, device: str, cache: CacheLayout) -> Decoder:
    """Return the decoder ``name`` with random weights made on ``device``, for inference."""
    with torch.device("meta"):
        model = Decoder(SHAPES[name], context, cache)
    model = model.to_empty(device=device)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.ones_(parameter)
        else:
            nn.init.normal_(parameter, std=0.02)
    for block in model.blocks:
        for buffer in block.attention.cache.buffers():
            buffer.zero_()
    model.causal.fill_(True).tril_()
    model.rope.copy_(rotations(context, SHAPES[name].head))
    return model.eval().requires_grad_(False)
