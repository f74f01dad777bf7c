"""Memory of the other GPU, and the all-reduces that write into it."""

import ctypes
from dataclasses import dataclass
from typing import Any

import torch
from driver import Kernel, allocate, handle_of, opened
from torch import Tensor

ARENA_BYTES = 512 << 20
MOST_BLOCKS = 128
"""Blocks of an all-reduce: they wait for each other's twins, so all have to run at once."""
THREADS = 512
ALIGNED = 256
"""Bytes: the start of a piece of an arena."""


class PeerMemoryError(Exception):
    """The other GPU's memory cannot be mapped, or the arena is used up."""


@dataclass(frozen=True)
class Place:
    """The same piece of both ranks' arenas, as this process addresses it: its own, the other's."""

    mine: ctypes.c_void_p
    theirs: ctypes.c_void_p


class Arena:
    """Memory of this GPU that the other rank writes into, and the other rank's own.

    Both ranks take the same pieces in the same order. ``store``: where they leave their handles, a
    torch.distributed store.
    """

    def __init__(self, rank: int, store: Any) -> None:
        if not torch.cuda.can_device_access_peer(rank, 1 - rank):
            raise PeerMemoryError(f"GPU {rank} cannot reach the memory of GPU {1 - rank}")
        self.rank = rank
        self._mine = allocate(ARENA_BYTES)
        store.set(f"arena.{rank}", handle_of(self._mine).hex())
        self._theirs = opened(bytes.fromhex(store.get(f"arena.{1 - rank}").decode()))
        self._used = 0

    def take(self, size: int) -> Place:
        """Return the next piece of so many bytes, zero until somebody writes into it."""
        place = Place(*(ctypes.c_void_p(at + self._used) for at in (self._mine, self._theirs)))
        self._used += -(-size // ALIGNED) * ALIGNED
        if self._used > ARENA_BYTES:
            raise PeerMemoryError(f"the arena of {ARENA_BYTES} bytes is used up")
        return place


def epochs(blocks: int) -> Tensor:
    """Return the counters of a kernel's launches, one a block."""
    return torch.zeros(blocks, dtype=torch.int32, device="cuda")


def blocks_for(words: int) -> int:
    """Return the blocks of a launch over so many words, of which a thread takes one or more."""
    return min(max(-(-words // THREADS), 1), MOST_BLOCKS)


class PeerReduce:
    """An all-reduce of messages of one size; ``kind``: "one-shot", "two-shot" or "packed"."""

    def __init__(self, kind: str, size: int, arena: Arena) -> None:
        self._kind, self._rank = kind, arena.rank
        if kind == "packed":
            self._count = size // 8
            self._kernel = Kernel("packed", "packed_one_shot_all_reduce")
            self._inbox = arena.take(4 * size)  # two slots, each twice the message
            self._blocks = blocks_for(self._count)
        else:
            name = kind.replace("-", "_")
            self._count = size // 16
            self._kernel = Kernel(name, f"{name}_all_reduce")
            self._inbox = arena.take(size if kind == "two-shot" else 2 * size)
            self._blocks = blocks_for(self._count // 2 if kind == "two-shot" else self._count)
            self._flags = arena.take(8 * MOST_BLOCKS)
        self._epochs = epochs(self._blocks)

    def __call__(self, mine: Tensor) -> Tensor:
        """Return the sum over both ranks of a bf16 tensor of the size."""
        total = torch.empty_like(mine)
        arguments: list[Any] = [mine, total, self._inbox.theirs, self._inbox.mine]
        if self._kind != "packed":
            arguments += [self._flags.theirs, self._flags.mine]
        arguments += [self._epochs, self._count]
        if self._kind == "two-shot":
            arguments.append(self._rank)
        self._kernel((self._blocks,), THREADS, arguments)
        return total
