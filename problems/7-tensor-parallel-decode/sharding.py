"""A layer's weights and cache: the whole of it, and the part that a rank holds.

Column-parallel: a rank holds some of the output features of Q, K, V, gate and up, whole heads
of them. Row-parallel: it holds the input features of the output and down projections that its own
heads and columns feed; the ranks' results are summed (Shoeybi et al., Megatron-LM, 2019, section 3,
arXiv:1909.08053).
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from workloads.decoder import SHAPES as DECODERS
from workloads.decoder import Shape

# Of Llama 3 70B's published configuration; a cell says how many of the layers it has.
SHAPES = {
    "llama-3-70b": Shape(80, 8192, 64, 8, 28672, 128256),
    "llama-tiny": DECODERS["llama-tiny"],
}
_STD = 0.02
_SEED = 1000


@dataclass(frozen=True)
class Layer:
    """Weights, [outputs, inputs], and cache, [batch, kv_heads, context, head], in bf16.

    ``qkv``: the rows of all queries, then keys, then values; ``gate_up``: all gates, then all ups.
    """

    qkv: Tensor
    out: Tensor
    gate_up: Tensor
    down: Tensor
    attention_norm: Tensor
    feed_norm: Tensor
    keys: Tensor
    values: Tensor


def whole(shape: Shape, number: int, batch: int, context: int, device: str) -> Layer:
    """Return layer ``number``, random and the same in every process with that kind of device."""
    generator = seeded(_SEED + number, device)

    def drawn(*sizes: int, std: float = _STD, mean: float = 0.0) -> Tensor:
        memory = torch.empty(sizes, dtype=torch.bfloat16, device=device)
        return memory.normal_(mean, std, generator=generator)

    rows = (shape.heads + 2 * shape.kv_heads) * shape.head
    cache = (batch, shape.kv_heads, context, shape.head)
    return Layer(
        qkv=drawn(rows, shape.width),
        out=drawn(shape.width, shape.width),
        gate_up=drawn(2 * shape.hidden, shape.width),
        down=drawn(shape.width, shape.hidden),
        attention_norm=drawn(shape.width, std=0.1, mean=1.0),
        feed_norm=drawn(shape.width, std=0.1, mean=1.0),
        keys=drawn(*cache, std=1.0),
        values=drawn(*cache, std=1.0),
    )


def part(layer: Layer, shape: Shape, rank: int, ranks: int) -> Layer:
    """Return what one of ``ranks`` ranks holds of a layer, in memory of its own."""

    def share(tensor: Tensor, dimension: int = 0) -> Tensor:
        return tensor.chunk(ranks, dimension)[rank].clone(memory_format=torch.contiguous_format)

    heads = [shape.heads * shape.head, shape.kv_heads * shape.head, shape.kv_heads * shape.head]
    return Layer(
        qkv=torch.cat([share(rows) for rows in layer.qkv.split(heads)]),
        out=share(layer.out, 1),
        gate_up=torch.cat([share(rows) for rows in layer.gate_up.chunk(2)]),
        down=share(layer.down, 1),
        attention_norm=layer.attention_norm,
        feed_norm=layer.feed_norm,
        keys=share(layer.keys, 1),
        values=share(layer.values, 1),
    )


def hidden_states(shape: Shape, batch: int, number: int, device: str) -> Tensor:
    """Return input ``number``, [batch, width], the same in every process."""
    generator = seeded(number, device)
    memory = torch.empty(batch, shape.width, dtype=torch.bfloat16, device=device)
    return memory.normal_(generator=generator)


def seeded(seed: int, device: str) -> torch.Generator:
    """Return a generator of the current device of that kind."""
    return torch.Generator(torch.empty(0, device=device).device).manual_seed(seed)
