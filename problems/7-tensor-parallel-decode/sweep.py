"""All-reduces of one message size, each way as a CUDA graph of many in a row."""

from collections.abc import Callable

import torch
from any_ranks import AnyRanksReduce, Everyone, PackedReduce
from exchange import PeerFused
from library_ways import LIBRARY, LibraryWays, chained, nccl_batch, summed
from operations import NORM_WIDTH, Fused
from peer import Arena, PeerReduce
from schedules import ALGORITHMS
from sharding import seeded
from torch import Tensor

KINDS = ("nccl", "one-shot", "two-shot", "packed")
ANY_RANKS = tuple(f"any-{name}" for name in ALGORITHMS)
"""One code for any number of ranks: ``schedules.py``."""
PACKED = {"any-packed-one-shot": "one", "any-packed-two-shot": "two"}
OWN = (*ANY_RANKS, *PACKED)
NORMS = ("add-norm", "fused")
"""Residual and norm, without and with an all-reduce: where a message is rows that they take."""
Others = tuple[Everyone, LibraryWays]
_MOST_ROWS = 64
_BATCH_BYTES = 64 << 20
_LEAST, _MOST = 4, 50
_CHECKS = 4


class SumError(Exception):
    """An all-reduce returned other bits than the sum."""


class Sweep:
    """The all-reduces of ``size`` bytes; ``captured`` makes a graph of a step."""

    def __init__(
        self,
        size: int,
        rank: int,
        arena: Arena,
        others: Others | None,
        captured: Callable[[Callable[[], Tensor]], Callable[[], Tensor]],
    ) -> None:
        self._size, self._rank = size, rank
        self._x = torch.zeros(size // 2, dtype=torch.bfloat16, device="cuda")
        self._count = min(max(_BATCH_BYTES // size, _LEAST), _MOST)
        batches = {
            kind: peer_batch(PeerReduce(kind, size, arena), self._x, self._count)
            for kind in KINDS[1:]
        }
        batches["nccl"] = nccl_batch(self._x, self._count)
        rows, rest = divmod(size, 2 * NORM_WIDTH)
        self.kinds = KINDS if rest or not 1 <= rows <= _MOST_ROWS else KINDS + NORMS
        if NORMS[0] in self.kinds:
            partial = self._x.view(rows, NORM_WIDTH)
            batches["add-norm"] = norm_batch(Fused().add_norm, partial, self._count)
            batches["fused"] = norm_batch(PeerFused(rows, arena).add_norm, partial, self._count)
        if others:
            everyone, libraries = others
            found = libraries.made(self._x, self._count)
            batches |= any_batches(everyone, self._x, self._count) | found
            self.kinds += (*OWN, *found)
        self._replays = {
            kind: batches[kind] if kind == "nccl-launched" else captured(batches[kind])
            for kind in self.kinds
        }

    def launch(self, kind: str) -> None:
        """Launch a batch of all-reduces."""
        self._replays[kind]()

    def batched(self, kind: str) -> int:
        """Return how many all-reduces such a batch has."""
        return chained(kind, self._count)

    def check(self) -> None:
        """Compare every sum of ``KINDS`` with torch's, own ones bit by bit.

        Data differ from round to round: old ones that a replay finds in an inbox would show.
        """
        for number in range(_CHECKS):
            parts = [self._drawn(2 * number + rank) for rank in range(2)]
            for kind in self.kinds:
                if kind in NORMS:
                    continue
                replay = self._replays[kind]
                self._x.copy_(parts[self._rank])
                is_library = kind == "nccl" or kind in LIBRARY
                expected, result = summed(kind, parts, self._count), replay()
                differing = int((result.view(torch.int16) != expected.view(torch.int16)).sum())
                if differing and not (is_library and near(result, expected)):
                    message = f"{kind}, {self._size} bytes, round {number}: {differing} elements"
                    raise SumError(f"{message} are not the sum")

    def _drawn(self, seed: int) -> Tensor:
        return torch.empty_like(self._x).normal_(generator=seeded(seed, "cuda"))


# Batches are no methods: a graph that kept its sweep would outlive it until garbage is collected,
# and NCCL's communicator waits for the graphs that hold it.


def any_batches(everyone: Everyone, x: Tensor, count: int) -> dict[str, Callable[[], Tensor]]:
    """Return batches of messages like ``x`` over any number of ranks, by their names in ``OWN``."""
    made: dict[str, Callable[[Tensor], Tensor]] = {
        kind: AnyRanksReduce(name, x.nbytes, everyone)
        for name, kind in zip(ALGORITHMS, ANY_RANKS, strict=True)
    }
    made |= {kind: PackedReduce(shots, x.nbytes, everyone) for kind, shots in PACKED.items()}
    return {kind: peer_batch(reduce, x, count) for kind, reduce in made.items()}


def peer_batch(reduce: Callable[[Tensor], Tensor], x: Tensor, count: int) -> Callable[[], Tensor]:
    """Return ``count`` sums of ``x``; the last one is the result."""

    def batch() -> Tensor:
        for _ in range(count):
            total = reduce(x)
        return total

    return batch


def norm_batch(
    add_norm: Callable[[Tensor, Tensor, Tensor], Tensor], partial: Tensor, count: int
) -> Callable[[], Tensor]:
    """Return ``count`` times residual and norm of ``partial``; the last result is the batch's."""
    residual, weight = torch.zeros_like(partial), torch.ones_like(partial[0])

    def batch() -> Tensor:
        for _ in range(count):
            normed = add_norm(partial, residual, weight)
        return normed

    return batch


def near(result: Tensor, expected: Tensor) -> bool:
    """Return whether a sum differs from the expected one by a rounding at most."""
    wide = expected.double()
    return float((result.double() - wide).norm() / wide.norm()) < 2**-8
