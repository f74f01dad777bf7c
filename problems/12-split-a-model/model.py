"""A stack of decoder layers as one GPU would run it; the ways to split it change its parts.

Shapes are of the published configurations of Llama 3 70B and Mixtral 8x7B; a case says how many of
the layers it has. Weights are random, the same on every rank.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from law import Sizes
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

_SEED = 7
_ROPE_BASE = 500000.0


@dataclass(frozen=True)
class Shape:
    """Dimensions of a layer. ``experts``: 0 for one feed-forward."""

    width: int
    heads: int
    kv_heads: int
    hidden: int
    experts: int = 0
    top: int = 2

    @property
    def head(self) -> int:
        """Return the elements of a head."""
        return self.width // self.heads

    def sizes(self, ranks: int, layers: int, tokens: int, element: int) -> Sizes:
        """Return the sizes that the law asks for."""
        return Sizes(
            ranks=ranks,
            layers=layers,
            tokens=tokens,
            width=self.width,
            kv_width=self.kv_heads * self.head,
            hidden=self.hidden,
            element=element,
            experts=self.experts,
            top=self.top,
        )


SHAPES = {
    "llama-3-70b": Shape(8192, 64, 8, 28672),
    "mixtral-8x7b": Shape(4096, 32, 8, 14336, experts=8),
    "llama-tiny": Shape(64, 8, 4, 128),
    "mixtral-tiny": Shape(64, 8, 4, 128, experts=4),
}

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Queries [batch, heads, tokens, head], keys and values with fewer heads: the queries' results."""


def causal(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return causal attention over whole sequences."""
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        return F.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, enable_gqa=True
        )


class Cached:
    """Attention of one new token to keys and values that are there, [batch, heads, tokens, head].

    Its own key and value are written over the last ones, so a step can be repeated.
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self._keys, self._values = keys.contiguous(), values.contiguous()

    def __call__(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Return attention to all of the cache; queries that share a head stand where tokens do."""
        self._keys[:, :, -1:].copy_(keys)
        self._values[:, :, -1:].copy_(values)
        grouped = queries.reshape(*self._keys.shape[:2], -1, queries.shape[-1])
        result = F.scaled_dot_product_attention(grouped, self._keys, self._values)
        return result.reshape(queries.shape)


class Attention(nn.Module):
    """Projections, RoPE and ``attend``. ``rotation``: cos, sin by token, [tokens, head / 2, 2]."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        kv_width = shape.kv_heads * shape.head
        self.head = shape.head
        self.q = nn.Linear(shape.width, shape.width, bias=False)
        self.k = nn.Linear(shape.width, kv_width, bias=False)
        self.v = nn.Linear(shape.width, kv_width, bias=False)
        self.o = nn.Linear(shape.width, shape.width, bias=False)
        self.attend: Attend = causal
        self.rotation: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's contribution to the residual stream, [batch, tokens, width]."""
        return self.o(self.attended(self.q(x), self.k(x), self.v(x)))

    def attended(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return the heads' results side by side, [batch, tokens, heads head]."""
        q, k, v = (each.unflatten(-1, (-1, self.head)).transpose(1, 2) for each in (q, k, v))
        q, k = (rotated(each, self.rotation) for each in (q, k))
        return self.attend(q, k, v).transpose(1, 2).flatten(2)


def rotations(shape: Shape, positions: Tensor) -> Tensor:
    """Return cos and sin of RoPE at those positions, [tokens, head / 2, 2], in fp32."""
    halves = torch.arange(shape.head // 2, device=positions.device) / (shape.head // 2)
    angles = positions[:, None] * _ROPE_BASE**-halves
    return torch.stack([angles.cos(), angles.sin()], -1)


def rotated(x: Tensor, rotation: Tensor) -> Tensor:
    """Return x, [batch, heads, tokens, head], turned by its tokens' angles."""
    first, second = x.chunk(2, -1)
    cos, sin = (each.to(x.dtype) for each in rotation.unbind(-1))
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's contribution to the residual stream, [..., width] as x."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Each token through its ``top`` experts, weighted by the router.

    ``gate_up``: [experts, width, 2 hidden]; ``down``: [experts, hidden, width]. ``chosen``: the
    last call's experts, [rows, top].
    """

    chosen: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.top = shape.top
        self.lean: Tensor | float = 0.0
        self.router = nn.Linear(shape.width, shape.experts, bias=False)
        self.gate_up = nn.Parameter(torch.empty(shape.experts, shape.width, 2 * shape.hidden))
        self.down = nn.Parameter(torch.empty(shape.experts, shape.hidden, shape.width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's contribution to the residual stream, [..., width] as x."""
        rows = x.flatten(0, -2)
        order, counts, weights = self.routed(rows)
        made = computed(rows[order // self.top], counts, self.gate_up, self.down)
        return self.combined(made, order, weights).view_as(x)

    def routed(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the rows' places by expert, the rows of each, and the weights, [rows, top]."""
        logits = self.router(rows).float() + self.lean
        weights, self.chosen = logits.softmax(-1).topk(self.top, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        flat = self.chosen.flatten()
        counts = torch.zeros(len(self.router.weight), dtype=torch.int64, device=rows.device)
        counts.scatter_add_(0, flat, torch.ones_like(flat))
        return flat.argsort(stable=True), counts, weights

    def combined(self, made: Tensor, order: Tensor, weights: Tensor) -> Tensor:
        """Return each row's sum over its experts, from results sorted as ``routed`` sorts."""
        in_place = torch.empty_like(made).index_copy(0, order, made)
        parts = in_place.view(*weights.shape, -1) * weights.to(made.dtype)[..., None]
        return parts.sum(1)


def computed(rows: Tensor, counts: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    """Return the experts' results of rows that are sorted by expert; ``counts``: of each."""
    if rows.is_cuda:
        ends = counts.cumsum(0).to(torch.int32)
        gate, up = torch._grouped_mm(rows, gate_up, offs=ends).chunk(2, -1)
        return torch._grouped_mm(F.silu(gate) * up, down, offs=ends)
    parts = []
    for number, own in enumerate(rows.split(counts.tolist())):
        gate, up = (own @ gate_up[number]).chunk(2, -1)
        parts.append((F.silu(gate) * up) @ down[number])
    return torch.cat(parts)


class Block(nn.Module):
    """A decoder layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(shape.width, eps=1e-5)
        self.attention = Attention(shape)
        self.feed_norm = nn.RMSNorm(shape.width, eps=1e-5)
        self.feed = Experts(shape) if shape.experts else FeedForward(shape)

    def forward(self, x: Tensor) -> Tensor:
        """Return the hidden states after the layer, [batch, tokens, width]."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed(self.feed_norm(x))


class Stack(nn.Module):
    """``layers`` layers and a norm; ``numbers``: those of the layers it has, for their weights."""

    def __init__(self, shape: Shape, numbers: range, *, ends: bool = True) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(shape) for _ in numbers)
        self.norm = nn.RMSNorm(shape.width, eps=1e-5) if ends else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Return the normed hidden states, [batch, tokens, width]."""
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


def built(shape: Shape, numbers: range, device: str, *, ends: bool = True) -> Stack:
    """Return layers with random weights, the same in every process with that kind of device."""
    with torch.device("meta"):
        stack = Stack(shape, numbers, ends=ends)
    stack = stack.to(dtype_on(device)).to_empty(device=device)
    for number, block in zip(numbers, stack.blocks, strict=True):
        _fill(block, seeded(_SEED + number, device))
    _fill(stack.norm, seeded(_SEED - 1, device))
    return stack


def _fill(module: nn.Module, generator: torch.Generator) -> None:
    with torch.no_grad():
        for weight in module.parameters():
            # A product keeps its input's size, so every part of a layer counts in the result.
            std, mean = (0.1, 1.0) if weight.dim() == 1 else (weight.shape[1] ** -0.5, 0.0)
            weight.normal_(mean, std, generator=generator)


def dtype_on(device: str) -> torch.dtype:
    """Return the numbers' type: bf16 on a GPU, fp32 on a CPU."""
    return torch.bfloat16 if device == "cuda" else torch.float32


def seeded(seed: int, device: str) -> torch.Generator:
    """Return a generator of the current device of that kind."""
    return torch.Generator(torch.empty(0, device=device).device).manual_seed(seed)
