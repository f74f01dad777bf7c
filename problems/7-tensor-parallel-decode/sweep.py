"""All-reduces of one message size, each way as a CUDA graph of many in a row."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from peer import Arena, PeerReduce
from sharding import seeded
from torch import Tensor

KINDS = ("nccl", "one-shot", "two-shot", "packed")
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
        captured: Callable[[Callable[[], Tensor]], Callable[[], Tensor]],
    ) -> None:
        self._size, self._rank = size, rank
        self._x = torch.zeros(size // 2, dtype=torch.bfloat16, device="cuda")
        self.count = min(max(_BATCH_BYTES // size, _LEAST), _MOST)
        batches = {kind: self._peer_batch(PeerReduce(kind, size, arena)) for kind in KINDS[1:]}
        batches["nccl"] = self._library_batch
        self._replays = {kind: captured(batches[kind]) for kind in KINDS}

    def _library_batch(self) -> Tensor:
        """Sum in place, as torch.distributed does: after the first time both ranks double."""
        total = self._x.clone()
        for _ in range(self.count):
            dist.all_reduce(total)
        return total

    def _peer_batch(self, reduce: PeerReduce) -> Callable[[], Tensor]:
        def batch() -> Tensor:
            for _ in range(self.count):
                total = reduce(self._x)
            return total

        return batch

    def launch(self, kind: str) -> None:
        """Launch a batch of ``count`` all-reduces."""
        self._replays[kind]()

    def check(self) -> None:
        """Compare every way's sum with torch's, own ones bit by bit, over new data in each round.

        Old data that a replay finds in an inbox would show, as data differ from round to round.
        """
        for number in range(_CHECKS):
            parts = [self._drawn(2 * number + rank) for rank in range(2)]
            total = (parts[0].float() + parts[1].float()).bfloat16()
            for kind, replay in self._replays.items():
                self._x.copy_(parts[self._rank])
                expected = total * 2 ** (self.count - 1) if kind == "nccl" else total
                result = replay()
                differing = int((result.view(torch.int16) != expected.view(torch.int16)).sum())
                if differing and not (kind == "nccl" and _near(result, expected)):
                    message = f"{kind}, {self._size} bytes, round {number}: {differing} elements"
                    raise SumError(f"{message} are not the sum")

    def _drawn(self, seed: int) -> Tensor:
        return torch.empty_like(self._x).normal_(generator=seeded(seed, "cuda"))


def _near(result: Tensor, expected: Tensor) -> bool:
    """Return whether a sum differs from the expected one by a rounding at most."""
    wide = expected.double()
    return float((result.double() - wide).norm() / wide.norm()) < 2**-8
