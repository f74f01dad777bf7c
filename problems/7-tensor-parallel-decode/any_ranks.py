"""All-reduces of ``schedules.py`` over as many GPUs as there are, each in one kernel."""

import ctypes
from typing import Any

import torch
from driver import Kernel, allocate, handle_of, opened
from peer import ALIGNED, ARENA_BYTES, MOST_BLOCKS, THREADS, PeerMemoryError, blocks_for
from schedules import ALGORITHMS
from torch import Tensor

_FIELDS = ("kind", "peer", "first", "count", "place", "flag")


class Everyone:
    """Memory of every rank's GPU, as this process addresses it. ``store``: for the handles.

    All ranks take the same pieces in the same order.
    """

    def __init__(self, rank: int, ranks: int, store: Any) -> None:
        for other in range(ranks):
            if other != rank and not torch.cuda.can_device_access_peer(rank, other):
                raise PeerMemoryError(f"GPU {rank} cannot reach the memory of GPU {other}")
        self.rank, self.ranks, self._used = rank, ranks, 0
        mine = allocate(ARENA_BYTES)
        store.set(f"everyone.{rank}", handle_of(mine).hex())
        self._starts = [
            mine
            if other == rank
            else opened(bytes.fromhex(store.get(f"everyone.{other}").decode()))
            for other in range(ranks)
        ]

    def take(self, size: int) -> Tensor:
        """Return the addresses of the next piece on every rank, [ranks], zero until written."""
        at, self._used = self._used, self._used + -(-size // ALIGNED) * ALIGNED
        if self._used > ARENA_BYTES:
            raise PeerMemoryError(f"the memory of {ARENA_BYTES} bytes is used up")
        addresses = [start + at for start in self._starts]
        return torch.tensor(addresses, dtype=torch.int64, device="cuda")


class AnyRanksReduce:
    """An all-reduce of messages of ``size`` bytes by one of ``ALGORITHMS``."""

    def __init__(self, algorithm: str, size: int, everyone: Everyone) -> None:
        self._rank, self._ranks = everyone.rank, everyone.ranks
        self._words = size // 16
        written = ALGORITHMS[algorithm](self._ranks, self._words)
        self._half, flags = max(written.words), max(written.flags)
        rows = [[getattr(step, name) for name in _FIELDS] for step in written.steps[self._rank]]
        self._count = len(rows)
        self._steps = torch.tensor(rows, dtype=torch.int32, device="cuda")
        self._inboxes = everyone.take(2 * 16 * self._half)
        self._flags = everyone.take(4 * flags * MOST_BLOCKS)
        self._blocks = blocks_for(self._words)
        self._epochs = torch.zeros(self._blocks, dtype=torch.int32, device="cuda")
        self._kernel = Kernel("any_ranks", "any_ranks_all_reduce")

    def __call__(self, mine: Tensor) -> Tensor:
        """Return the sum over all ranks of a bf16 tensor of the size."""
        total = torch.empty_like(mine)
        arguments: list[Tensor | int | float | ctypes.c_void_p] = [mine, total]
        arguments += [self._inboxes, self._flags, self._steps, self._epochs]
        arguments += [self._count, self._words, self._half]
        self._kernel((self._blocks,), THREADS, [*arguments, self._rank, self._ranks, MOST_BLOCKS])
        return total


class PackedReduce:
    """An all-reduce of messages of ``size`` bytes in packed words; ``shots``: "one" or "two"."""

    def __init__(self, shots: str, size: int, everyone: Everyone) -> None:
        self._rank, self._ranks, self._count = everyone.rank, everyone.ranks, size // 8
        if shots == "two" and self._count % self._ranks:
            raise PeerMemoryError(f"{size} bytes do not divide into {self._ranks} parts of words")
        messages = 2 * self._ranks if shots == "one" else 2
        self._inboxes = everyone.take(messages * 2 * size)  # packed: twice the bytes
        self._blocks = blocks_for(self._count if shots == "one" else self._count // self._ranks)
        self._epochs = torch.zeros(self._blocks, dtype=torch.int32, device="cuda")
        self._kernel = Kernel("any_packed", f"any_packed_{shots}_shot")

    def __call__(self, mine: Tensor) -> Tensor:
        """Return the sum over all ranks of a bf16 tensor of the size."""
        total = torch.empty_like(mine)
        sizes = (self._count, self._rank, self._ranks)
        self._kernel((self._blocks,), THREADS, [mine, total, self._inboxes, self._epochs, *sizes])
        return total
