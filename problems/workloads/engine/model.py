"""A decoder over a paged cache: Llama's and Qwen3's layers, dense or a mixture of experts."""

from dataclasses import dataclass
from types import ModuleType

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor

How = tuple[int, int, int, int]
"""In which form a fused product runs; see ``kernels.py``."""


@dataclass(frozen=True)
class Shape:
    """Dimensions of a decoder, in elements, as its published configuration states them."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int
    hidden: int
    vocabulary: int
    experts: int = 0
    experts_a_token: int = 0
    head_norms: bool = False
    rope_base: float = 500_000.0
    eps: float = 1e-5

    @property
    def weights(self) -> int:
        """Return how many weights a step of one token reads, its embedding left out."""
        attention = self.width * self.head * (2 * self.heads + 2 * self.kv_heads)
        feed = 3 * self.width * self.hidden * max(self.experts_a_token, 1)
        return (
            self.layers * (attention + feed + self.width * self.experts)
            + self.width * self.vocabulary
        )

    @property
    def kv_elements(self) -> int:
        """Return how many elements the keys and values of one token have, over all layers."""
        return 2 * self.layers * self.kv_heads * self.head


SHAPES = {
    "llama-3.1-8b": Shape(32, 4096, 32, 8, 128, 14336, 128256),
    "qwen3-30b-a3b-8-layers": Shape(
        8, 2048, 32, 4, 128, 768, 151936, 128, 8, head_norms=True, rope_base=1e6, eps=1e-6
    ),
    "llama-tiny": Shape(2, 64, 4, 2, 16, 128, 512),
    "qwen3-moe-tiny": Shape(2, 64, 4, 2, 16, 32, 512, 8, 2, head_norms=True, rope_base=1e6),
}


@dataclass
class Layer:
    """Weights of one layer; each matrix is [outputs, inputs], of experts [experts, …].

    What follows a norm (qkv; gate_up and router) has taken in the norm's weights: its inputs are
    multiplied by them once, when the model is made, instead of at each step.
    """

    qkv: Tensor
    out: Tensor
    gate_up: Tensor
    down: Tensor
    router: Tensor | None = None
    head_norms: tuple[Tensor, Tensor] | None = None


@dataclass
class Weights:
    """Weights of a decoder; ``rope``: cosines and sines, [positions, 2, head / 2], float32.

    ``vocabulary`` has taken in the weights of the norm before it.
    """

    shape: Shape
    embedding: Tensor
    layers: list[Layer]
    vocabulary: Tensor
    rope: Tensor


def random_weights(
    shape: Shape, positions: int, device: str, dtype: torch.dtype = torch.bfloat16, seed: int = 0
) -> Weights:
    """Return weights drawn from a normal distribution of standard deviation 0.02."""
    drawn = torch.Generator(device).manual_seed(seed)

    def matrix(*sizes: int) -> Tensor:
        return torch.empty(*sizes, device=device, dtype=dtype).normal_(0, 0.02, generator=drawn)

    def ones(size: int) -> Tensor:
        return torch.ones(size, device=device, dtype=dtype)

    experts = (shape.experts,) if shape.experts else ()
    width, head = shape.width, shape.head
    layers = [
        Layer(
            qkv=matrix((shape.heads + 2 * shape.kv_heads) * head, width),
            out=matrix(width, shape.heads * head),
            gate_up=matrix(*experts, 2 * shape.hidden, width),
            down=matrix(*experts, width, shape.hidden),
            router=matrix(shape.experts, width) if experts else None,
            head_norms=(ones(head), ones(head)) if shape.head_norms else None,
        )
        for _ in range(shape.layers)
    ]
    rope = rotations(positions, head, shape.rope_base, device)
    embedding = matrix(shape.vocabulary, width)
    return Weights(shape, embedding, layers, matrix(shape.vocabulary, width), rope)


def rotations(positions: int, head: int, base: float, device: str) -> Tensor:
    """Return the cosines and sines of rotary embedding (Su et al., 2021)."""
    frequencies = base ** -(torch.arange(0, head, 2, dtype=torch.float32, device=device) / head)
    angles = torch.outer(torch.arange(positions, dtype=torch.float32, device=device), frequencies)
    return torch.stack([angles.cos(), angles.sin()], dim=1)


@dataclass
class Inputs:
    """What a step reads beside weights and cache: int32, on the device.

    T tokens of R rows: ``ids``, ``positions`` and ``places`` [T]; ``slots``, ``ends`` and
    ``sampled`` [R]: which token of each row makes the next one; ``firsts`` [R + 1]: where each
    row's tokens begin. ``singles``: rows that come first and have one token, or none if they pad a
    graph; ``longest``: most tokens of the other rows.
    """

    ids: Tensor
    positions: Tensor
    places: Tensor
    slots: Tensor
    ends: Tensor
    sampled: Tensor
    firsts: Tensor
    singles: int
    longest: int


class Model:
    """A decoder that computes steps over ``caches``, [layers, 2, blocks, K, block, D]."""

    def __init__(
        self, weights: Weights, caches: Tensor, tables: Tensor, kernels: ModuleType, fused: bool
    ) -> None:
        self.weights, self.caches, self.tables, self.kernels = weights, caches, tables, kernels
        shape = weights.shape
        sizes = (shape.width, shape.hidden, shape.heads * shape.head, 8 * shape.vocabulary)
        whole = all(size % 512 == 0 for size in sizes) and not shape.experts
        self.fusible = fused and whole and caches.is_cuda and caches.dtype == torch.bfloat16
        self.forms: dict[str, How] = {}
        """How the fused products run, by matrix; they run if it says so, for steps of decodes."""

    def logits(self, inputs: Inputs) -> Tensor:
        """Return the logits of each row's sampled token, [R, vocabulary]."""
        x = F.embedding(inputs.ids, self.weights.embedding)
        if self.forms and not inputs.longest:
            return self._few(x, inputs)
        kernels, eps = self.kernels, self.weights.shape.eps
        added: Tensor | None = None
        for layer, cache in zip(self.weights.layers, self.caches, strict=True):
            qkv = F.linear(kernels.norm(x, eps, added), layer.qkv)
            added = F.linear(self._attention(qkv, layer, cache, inputs), layer.out)
            added = self._feed(kernels.norm(x, eps, added), layer)
        if inputs.longest:
            sampled = inputs.sampled.long()
            x, added = x[sampled], added[sampled]
        return F.linear(kernels.norm(x, eps, added), self.weights.vocabulary)

    def _few(self, x: Tensor, inputs: Inputs) -> Tensor:
        """Do the same for few rows of a dense model: norms, SwiGLU and sums within the products."""
        product, forms, eps = self.kernels.product, self.forms, self.weights.shape.eps
        squares = x.float().square().sum(-1).unsqueeze(0)
        for layer, cache in zip(self.weights.layers, self.caches, strict=True):
            qkv, _ = product(x, layer.qkv, forms["qkv"], squares, eps)
            y = self._attention(qkv, layer, cache, inputs)
            _, squares = product(y, layer.out, forms["out"], added_to=x)
            y, _ = product(x, layer.gate_up, forms["gate_up"], squares, eps, gated=True)
            _, squares = product(y, layer.down, forms["down"], added_to=x)
        return product(x, self.weights.vocabulary, forms["vocabulary"], squares, eps)[0]

    def _attention(self, x: Tensor, layer: Layer, cache: Tensor, inputs: Inputs) -> Tensor:
        """Return attention, [T, heads * head], of x = qkv, [T, (heads + 2 * kv_heads) * head]."""
        shape, kernels = self.weights.shape, self.kernels
        qkv = x.view(len(x), -1, shape.head)
        norms = (*layer.head_norms, shape.eps) if layer.head_norms else None
        kernels.rotate_and_store(
            qkv, inputs.positions, inputs.places, self.weights.rope, cache, norms
        )
        y = kernels.attend(
            qkv[:, : shape.heads],
            cache,
            self.tables,
            inputs.slots,
            inputs.ends,
            inputs.firsts,
            inputs.singles,
            inputs.longest,
        )
        return y.view(len(x), -1)

    def _feed(self, x: Tensor, layer: Layer) -> Tensor:
        if layer.router is None:
            return F.linear(self.kernels.swiglu(F.linear(x, layer.gate_up)), layer.down)
        top = self.weights.shape.experts_a_token
        shares, chosen = F.linear(x, layer.router).float().softmax(-1).topk(top, dim=-1)
        shares = shares / shares.sum(-1, keepdim=True)
        order = chosen.flatten().argsort(stable=True)
        counts = torch.zeros(len(layer.gate_up), dtype=torch.int32, device=x.device)
        counts.scatter_add_(0, chosen.flatten(), torch.ones_like(order, dtype=torch.int32))
        ends = counts.cumsum(0, dtype=torch.int32)
        y = _grouped(x[order // top], layer.gate_up, ends)
        y = _grouped(self.kernels.swiglu(y), layer.down, ends)
        back = torch.empty_like(y).index_copy_(0, order, y).view(len(x), top, -1)
        return (back * shares.to(x.dtype).unsqueeze(-1)).sum(1)


def _grouped(x: Tensor, weights: Tensor, ends: Tensor) -> Tensor:
    """Return x [T, inputs], whose rows to ``ends[e]`` are expert e's, times its weights."""
    if x.dtype == torch.bfloat16 and x.is_cuda:
        return F.grouped_mm(x, weights.transpose(1, 2), offs=ends)
    parts = x.tensor_split(ends[:-1].tolist())
    return torch.cat([F.linear(part, one) for part, one in zip(parts, weights, strict=True)])
