"""What a case asks of a model: its input, the caches, and what one GPU makes of it unsplit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from law import Sizes
from model import SHAPES, Cached, Shape, Stack, built, dtype_on, rotations, seeded
from torch import Tensor

KINDS = ("decode", "prefill", "train")
_CACHE_SEED, _INPUT_SEED = 500, 900


@dataclass(frozen=True)
class Work:
    """A case's work. ``kind``: one of ``KINDS``; ``context``: tokens of a decode's cache.

    ``skew``: the router's weight of expert n is multiplied by n^-skew before it chooses, as in
    Zipf's law. Experts of a trained Mixtral 8x7B are chosen unevenly, too (Shahout et al., 2025,
    arXiv:2510.03293); 0 leaves the random router as it is, nearly even.
    """

    kind: str
    shape: Shape
    layers: int
    batch: int
    tokens: int
    context: int
    microbatches: int
    device: str
    skew: float = 0.0

    @classmethod
    def of(cls, params: dict[str, Any], device: str) -> "Work":
        """Return the work of a cell's params; ValueError for a kind that there is not."""
        if params["work"] not in KINDS:
            raise ValueError(f"no work is called {params['work']!r}: there are {', '.join(KINDS)}")
        return cls(
            kind=params["work"],
            shape=SHAPES[params["model"]],
            layers=params["layers"],
            batch=params["batch"],
            tokens=params["tokens"],
            context=params.get("context", 0),
            microbatches=params.get("microbatches", 1),
            device=device,
            skew=params.get("skew", 0.0),
        )

    @property
    def trains(self) -> bool:
        """Return whether a step has a backward pass."""
        return self.kind == "train"

    def sizes(self, ranks: int) -> Sizes:
        """Return the sizes that the law asks for."""
        element = torch.finfo(dtype_on(self.device)).bits // 8
        return self.shape.sizes(ranks, self.layers, self.batch * self.tokens, element)

    def input(self) -> Tensor:
        """Return the input, [batch, tokens, width], the same on every rank."""
        memory = torch.empty(
            self.batch,
            self.tokens,
            self.shape.width,
            dtype=dtype_on(self.device),
            device=self.device,
        )
        return memory.normal_(generator=seeded(_INPUT_SEED, self.device))

    def stack(self, numbers: range | None = None, *, ends: bool = True) -> Stack:
        """Return the model, or some of its layers, with whole caches and positions in place."""
        numbers = range(self.layers) if numbers is None else numbers
        stack = built(self.shape, numbers, self.device, ends=ends)
        stack.requires_grad_(self.trains)
        if self.skew:
            numbered = torch.arange(1, self.shape.experts + 1, device=self.device)
            for block in stack.blocks:
                block.feed.lean = -self.skew * numbered.log()
        last = self.context - 1
        start = last if self.kind == "decode" else 0
        self.place(stack, torch.arange(start, start + self.tokens, device=self.device))
        if self.kind == "decode":
            self.fill_caches(stack, numbers, slice(None), slice(None))
        return stack

    def place(self, stack: Stack, positions: Tensor) -> None:
        """Say which positions the tokens have that a rank holds."""
        rotation = rotations(self.shape, positions)
        for block in stack.blocks:
            block.attention.rotation = rotation

    def fill_caches(self, stack: Stack, numbers: range, rows: slice, heads: slice) -> None:
        """Give each layer its part of the cache: sequences ``rows``, key heads ``heads``."""
        sizes = (2, self.batch, self.shape.kv_heads, self.context, self.shape.head)
        for number, block in zip(numbers, stack.blocks, strict=True):
            memory = torch.empty(sizes, dtype=dtype_on(self.device), device=self.device)
            memory.normal_(generator=seeded(_CACHE_SEED + number, self.device))
            block.attention.attend = Cached(*(each[rows, heads].clone() for each in memory))


def loss_of(output: Tensor, whole: int) -> Tensor:
    """Return the part of the mean square that an output has; ``whole``: of how many elements."""
    return output.float().square().sum() / whole


def trained(stack: torch.nn.Module, x: Tensor, whole: int) -> Callable[[], Tensor]:
    """Return a training step without an update: the loss, and gradients that are made anew."""

    def step() -> Tensor:
        for weight in stack.parameters():
            weight.grad = None
        loss = loss_of(stack(x), whole)
        loss.backward()
        return loss.detach()

    return step


WATCHED = ("attention_norm.weight", "feed_norm.weight", "attention.o.weight", "feed.down")
"""Weights of each layer whose gradients are compared with the unsplit model's, if it has them."""
_FEW = 32
"""So many hidden elements of each expert are compared."""


def gradients(stack: Stack, numbers: range) -> dict[str, Tensor]:
    """Return the whole gradients of the watched weights, by layer and name; of experts a part.

    Every rank calls it: a sharded gradient is gathered.
    """
    found = {}
    for number, block in zip(numbers, stack.blocks, strict=True):
        weights = dict(block.named_parameters())
        for name in (each for each in WATCHED if each in weights):
            gradient = weights[name].grad
            full = gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient
            found[f"{number}.{name}"] = (full[:, :_FEW] if full.dim() > 2 else full).clone()
    return found


def relative(result: Tensor, exact: Tensor) -> float:
    """Return ‖result - exact‖ / ‖exact‖; NaN where an element was not written."""
    wide = exact.double()
    return float((result.double() - wide).norm() / wide.norm())
