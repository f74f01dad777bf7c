"""A Llama-shaped decoder: real dimensions, random weights made on the device, nothing downloaded.

Fused QKV, a static KV cache, one token a step; dimensions are of the published configurations.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Dimensions of a decoder, in elements."""

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


SHAPES = {
    "llama-3.1-8b": Shape(32, 4096, 32, 8, 14336, 128256),
    "llama-3.2-3b": Shape(28, 3072, 24, 8, 8192, 128256),
    "llama-tiny": Shape(2, 256, 8, 2, 512, 1024),
}


class Attention(nn.Module):
    """Grouped-query attention over a static key-value cache."""

    def __init__(self, shape: Shape, context: int) -> None:
        super().__init__()
        self.shape = shape
        self.qkv = linear(shape.width, shape.width + 2 * shape.kv_heads * shape.head)
        self.out = linear(shape.width, shape.width)
        cache = torch.zeros(2, 1, shape.kv_heads, context, shape.head, dtype=torch.bfloat16)
        self.register_buffer("cache", cache, persistent=False)

    def forward(self, x: Tensor, rope: Tensor, mask: Tensor, position: Tensor) -> Tensor:
        """x: [1, T, width]; rope: [T, head/2, 2]; mask: [1, 1, T, context]; position: [T]."""
        s, tokens = self.shape, x.shape[1]
        heads = self.qkv(x).view(1, tokens, s.heads + 2 * s.kv_heads, s.head)
        q, k, v = heads.split([s.heads, s.kv_heads, s.kv_heads], dim=2)
        self.cache[0, :, :, position] = rotate(k, rope).transpose(1, 2)
        self.cache[1, :, :, position] = v.transpose(1, 2)
        keys, values = self.cache.repeat_interleave(s.heads // s.kv_heads, dim=2)
        q = rotate(q, rope).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(1, tokens, s.width))


class Block(nn.Module):
    """Pre-norm attention and SwiGLU feed-forward."""

    def __init__(self, shape: Shape, context: int) -> None:
        super().__init__()
        self.attention = Attention(shape, context)
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

    def __init__(self, shape: Shape, context: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(shape.vocabulary, shape.width, dtype=torch.bfloat16)
        self.blocks = nn.ModuleList(Block(shape, context) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, eps=1e-5, dtype=torch.bfloat16)
        self.head = linear(shape.width, shape.vocabulary)
        causal = torch.ones(context, context, dtype=torch.bool)
        self.register_buffer("causal", causal, persistent=False)
        self.register_buffer("rope", rotations(context, shape.head), persistent=False)

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        """tokens: [1, T] int; position: [T] int; returns logits [1, vocabulary]."""
        mask = self.causal[None, None, position]
        rope = self.rope[position]
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, rope, mask, position)
        return self.head(self.norm(x[:, -1]))


def linear(inputs: int, outputs: int) -> nn.Linear:
    """Return a linear layer as this decoder has them."""
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


def build(name: str, context: int, device: str) -> Decoder:
    """Return a bfloat16 decoder with random weights made on ``device``; tables stay float32."""
    with torch.device("meta"):
        model = Decoder(SHAPES[name], context)
    model = model.to_empty(device=device)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.ones_(parameter)
        else:
            nn.init.normal_(parameter, std=0.02)
    for block in model.blocks:
        block.attention.cache.zero_()
    model.causal.fill_(True).tril_()
    model.rope.copy_(rotations(context, SHAPES[name].head))
    return model.eval().requires_grad_(False)
