"""The blocks that the allocator handed out; events hold what was asked for.

A forward pass over the history keeps each segment's free blocks, as torch's
c10/cuda/CUDACachingAllocator does (malloc, should_split, free_block), from where it was reserved.
Segments that stood before the history are not known, and expandable ones always split.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

SMALL_SEGMENT = 2 << 20
"""kSmallBuffer: segments for blocks of at most 1 MiB, which are split to the last 512 bytes."""
_LEAST_REST = 1 << 20
"""kSmallSize: a larger segment's block is split where more than this is left."""


def handed_out(events: Iterable[tuple[str, int | None, int]], rounded: Sequence[int]) -> list[int]:
    """Return the bytes of the block of each event that hands one out or frees it; 0 of others.

    ``events``: action, address and size. ``rounded``: what was asked for, as the allocator rounds
    it, with a sign: less than 0 frees.
    """
    sizes = list(rounded)
    walk = _Segments()
    for at, (action, address, size) in enumerate(events):
        if address is None:
            continue
        if action == "segment_alloc":
            walk.reserve(address, size)
        elif action == "segment_free":
            walk.drop(address)
        elif sizes[at] > 0:
            sizes[at] = walk.take(address, sizes[at])
        elif sizes[at] < 0:
            sizes[at] = -walk.give_back(address, -sizes[at])
    return sizes


@dataclass(slots=True)
class _Segment:
    """Free blocks by their start and by their end, and blocks in use by their start, with sizes."""

    end: int
    small: bool
    free: dict[int, int] = field(default_factory=dict)
    ending: dict[int, int] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)

    def add(self, start: int, size: int) -> None:
        """Add a free block, joined with those that touch it."""
        if start in self.ending:
            before = self.ending.pop(start)
            size += self.free.pop(before)
            start = before
        if after := self.free.pop(start + size, 0):
            del self.ending[start + size + after]
            size += after
        self.free[start] = size
        self.ending[start + size] = start

    def take(self, start: int, size: int) -> int | None:
        """Return the bytes of the block that was handed out, None if none of them was free."""
        whole = self.free.pop(start, 0)
        if whole:
            del self.ending[start + whole]
        if whole < size:
            return None
        rest = whole - size
        if rest and (self.small or rest > _LEAST_REST):
            self.add(start + size, rest)
            whole = size
        self.used[start] = whole
        return whole


class _Segments:
    """The segments that the history reserved and has not freed yet."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._known: dict[int, _Segment] = {}

    def reserve(self, start: int, size: int) -> None:
        self.drop(start)
        insort(self._starts, start)
        self._known[start] = _Segment(start + size, small=size <= SMALL_SEGMENT)
        self._known[start].add(start, size)

    def drop(self, start: int) -> None:
        if self._known.pop(start, None):
            self._starts.remove(start)

    def take(self, address: int, size: int) -> int:
        segment = self._of(address)
        whole = segment.take(address, size) if segment else None
        if segment and whole is None:  # it is not as torch would have it: nothing is known of it
            self.drop(self._starts[bisect_right(self._starts, address) - 1])
        return whole or size

    def give_back(self, address: int, size: int) -> int:
        segment = self._of(address)
        whole = segment.used.pop(address, None) if segment else None
        if segment and whole:
            segment.add(address, whole)
        return whole or size

    def _of(self, address: int) -> _Segment | None:
        at = bisect_right(self._starts, address) - 1
        segment = self._known[self._starts[at]] if at >= 0 else None
        return segment if segment and address < segment.end else None
