"""How long a forward pass takes by each way, from one GPU's own steps and the link alone.

A rank's own work is a roofline (Williams et al., 2009, doi:10.1145/1498765.1498785): products take
the longer of their weights' bytes and their FLOP; attention its FLOP, or the cache's bytes. ``law``
adds the collectives, as it does for the study's own predictions.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..law import Overlap, Points, Sizes, attention_share, between, step_ms

DECODES = ("whole", "tensor", "tensor-symmetric")
PREFILLS = ("whole", "tensor", "sequence", "sequence-async", "ring", "ulysses")
"""The ways that the study measures; ``ring-torch`` is torch's own ring."""
_SPLIT_BY_TOKENS = ("ring", "ulysses")
TIE = 0.03
"""Ways whose times are so close to the least are not told apart."""


@dataclass(frozen=True)
class Point:
    """A step: ``tokens`` of each sequence are computed; ``context``: of a decode's cache, or 0."""

    tokens: int
    sequences: int
    context: int = 0


def product_flop(of: Sizes, at: Point) -> float:
    """Return the FLOP of all products of a step: two for each weight and token."""
    weights = of.attention_weights + 3 * of.width * of.hidden
    return 2.0 * of.layers * weights * at.tokens * at.sequences


def attention_flop(of: Sizes, at: Point) -> float:
    """Return the FLOP of whole sequences' causal attention, as ``law.attention_share`` counts."""
    return 2.0 * of.layers * at.sequences * at.tokens**2 * of.width


def weight_bytes(of: Sizes) -> float:
    """Return the bytes of all weights."""
    return float(of.layers * of.layer_weights * of.element)


def cache_bytes(of: Sizes, at: Point) -> float:
    """Return the bytes of all keys and values that a decode reads."""
    return 2.0 * of.layers * at.sequences * at.context * of.kv_width * of.element


@dataclass(frozen=True)
class Rates:
    """What a GPU does in a ms: bytes, FLOP of products, of attention. ``fixed``: ms of a layer."""

    memory: float
    products: float
    attention: float
    fixed: float

    def with_memory(self, memory: float, of: Sizes, few: Point) -> "Rates":
        """Return these with another rate of memory, by which that decode takes as long."""
        read = weight_bytes(of) + cache_bytes(of, few)
        fixed = self.fixed + read * (1 / self.memory - 1 / memory) / of.layers
        return replace(self, memory=memory, fixed=fixed)


def rates(
    of: Sizes, whole: Mapping[Point, float], attention_ms: float, attended: Point
) -> Rates | None:
    """Return the rates that make one GPU's three steps take what they took; None if none do.

    ``whole``: ms of a decode of few sequences, of many, and of a prefill, in this order. Between
    the decodes the cache grows alone, which gives the memory's rate; what it leaves of the first is
    fixed. ``attention_ms``: of one layer's attention to ``attended``, of the heads of one rank.
    """
    (few, few_ms), (many, many_ms), (prefill, prefill_ms) = whole.items()
    if many_ms <= few_ms or attention_ms <= 0:
        return None
    memory = (cache_bytes(of, many) - cache_bytes(of, few)) / (many_ms - few_ms)
    fixed = few_ms - (weight_bytes(of) + cache_bytes(of, few)) / memory
    attention = attention_flop(of, attended) / of.layers / of.ranks / attention_ms
    left = prefill_ms - fixed - attention_flop(of, prefill) / attention
    if fixed < 0 or left <= 0:
        return None
    return Rates(memory, product_flop(of, prefill) / left, attention, fixed / of.layers)


def collectives(way: str, of: Sizes) -> list[tuple[str, float]]:
    """Return kind and size, as ``law.sent`` counts one, of each collective of a layer.

    ``law.forward_bytes`` names the sources. ``of.tokens``: of all sequences.
    """
    local = of.tokens / of.ranks * of.element
    leaving = local * (of.ranks - 1) / of.ranks
    halves: list[tuple[str, float]] = [
        ("all-gather", of.hidden_bytes),
        ("reduce-scatter", of.hidden_bytes),
    ]
    exchanged = (of.width + 2 * of.kv_width, of.width)
    found: dict[str, list[tuple[str, float]]] = {
        "whole": [],
        "tensor": [("all-reduce", of.hidden_bytes)] * 2,
        "tensor-symmetric": [("one-shot", of.hidden_bytes)] * 2,
        "sequence": halves * 2,
        "sequence-async": halves * 2,
        "ring": [("send", 2 * local * of.kv_width)] * (of.ranks - 1),
        "ulysses": [("all-to-all", leaving * width) for width in exchanged],
    }
    return found[way]


@dataclass(frozen=True)
class Forecast:
    """The study's layers on one link.

    ``launched``, ``in_graph``: by kind, bytes and the µs of a collective. ``memory``: bytes of a
    GPU. ``held``: bytes that each way held in the prefill of ``prefill``.
    """

    of: Sizes
    rates: Rates
    launched: Mapping[str, Points]
    in_graph: Mapping[str, Points]
    prefill: Point
    held: Mapping[str, float]
    memory: float = math.inf

    def ms(self, way: str, at: Point) -> float:
        """Return the ms of a step; a decode is a CUDA graph."""
        sizes = replace(self.of, tokens=at.tokens * at.sequences)
        tables = self.in_graph if at.context else self.launched
        comm_us = sum(between(tables[kind], size) for kind, size in collectives(way, sizes))
        return step_ms(self.own_ms(way, at), self.of.layers * comm_us, self.overlap(way, at))

    def own_ms(self, way: str, at: Point) -> float:
        """Return the ms of a rank's own work."""
        of, per = self.of, self.rates
        ranks = 1 if way == "whole" else of.ranks
        read = weight_bytes(of) / self._weight_parts(way) / per.memory
        products = max(read, product_flop(of, at) / ranks / per.products)
        if at.context:
            attended = cache_bytes(of, at) / ranks / per.memory
        else:
            attended = attention_flop(of, at) / ranks / per.attention
        return of.layers * per.fixed + products + attended

    def overlap(self, way: str, at: Point) -> Overlap:
        """Return what a way hides, as the study's own predictions say it."""
        if way == "ring":
            share = attention_share(replace(self.of, tokens=at.tokens))
            return Overlap(beside=share * (self.of.ranks - 1) / self.of.ranks)
        if way == "sequence-async":
            return Overlap(beside=1.0, ends=1 / (4 * self.of.layers))
        return Overlap()

    def fits(self, way: str, at: Point) -> bool:
        """Return whether a way holds no more than a GPU has: but for weights, tokens count."""
        fixed = weight_bytes(self.of) / self._weight_parts(way)
        if at.context:
            return fixed + cache_bytes(self.of, at) <= self.memory
        more = at.tokens * at.sequences / (self.prefill.tokens * self.prefill.sequences)
        return fixed + max(0.0, self.held[way] - fixed) * more <= self.memory

    def fastest(self, at: Point) -> list[str]:
        """Return the way with the least time, and those that are not told apart from it."""
        ways = DECODES if at.context else PREFILLS
        return leading({way: self.ms(way, at) for way in ways if self.fits(way, at)})

    def _weight_parts(self, way: str) -> int:
        return 1 if way == "whole" or way in _SPLIT_BY_TOKENS else self.of.ranks


def leading(times: Mapping[str, float]) -> list[str]:
    """Return the ways, in their order, whose times lie within ``TIE`` of the least."""
    least = min(times.values(), default=0.0)
    return [way for way, ms in times.items() if ms <= least * (1 + TIE)]
