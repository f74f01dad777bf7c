"""Allocations for which no memory was left, and what was reserved but free at such a time."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.evidence.tables import empty, frame

if TYPE_CHECKING:
    import polars as pl

    from harness.captures.memory.lifetimes import Life
    from harness.captures.memory.snapshot import AllocatorEvent, Snapshot
    from harness.captures.memory.stacks import StackNames

OOM = "oom"
_MOST = 10
"""Failures whose free pieces are told, the last ones: a program may catch thousands."""
_MORE = ("segment_alloc", "segment_map")
_LESS = ("segment_free", "segment_unmap")


def failed(events: "Sequence[AllocatorEvent]", names: "StackNames") -> "pl.DataFrame":
    """Return memory_failed: each allocation for which no memory was left."""
    failures = [(at, event) for at, event in enumerate(events) if event.action == OOM]
    return frame(
        "memory_failed",
        {
            "index": [at for at, _ in failures],
            "bytes": [event.size for _, event in failures],
            "device_free_bytes": [event.device_free for _, event in failures],
            "site": [names.site(event.frames) for _, event in failures],
            "stack": [names.stack(event.frames) for _, event in failures],
        },
    )


def free(snapshot: "Snapshot", lived: "Sequence[Life]", peak: int) -> "pl.DataFrame":
    """Return memory_free: what was reserved and free after event ``peak`` and at the last failures.

    A time at which segments and blocks contradict each other has no row; nor has any where
    addresses are missing, or blocks that stand at the snapshot.
    """
    events = snapshot.events
    standing = sum(life.bytes for life in lived if life.freed is None)
    if (
        not lived
        or standing != sum(segment.held for segment in snapshot.segments)
        or any(segment.address is None for segment in snapshot.segments)
    ):
        return empty("memory_free")
    failures = [at for at, event in enumerate(events) if event.action == OOM]
    rows = [
        (at, *parts)
        for at in sorted({peak, *failures[-_MOST:]})
        if (parts := _free_at(snapshot, lived, at)) is not None
    ]
    names = ("index", "free_bytes", "cached_bytes", "largest_bytes")
    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    return frame("memory_free", dict(zip(names, columns, strict=True)))


def _free_at(snapshot: "Snapshot", lived: "Sequence[Life]", at: int) -> tuple[int, int, int] | None:
    """Return the free bytes of used segments and of others, and the largest free piece."""
    segments = _segments_at(snapshot, at)
    if segments is None:
        return None
    starts = [start for start, _ in segments]
    live = sorted(
        (life.address, life.bytes)
        for life in lived
        if life.begun <= at and (life.freed is None or life.freed > at)
    )
    reached = list(starts)
    largest = 0
    for address, size in live:
        place = bisect_right(starts, address) - 1
        if place < 0 or address < reached[place] or address + size > segments[place][1]:
            return None
        largest = max(largest, address - reached[place])
        reached[place] = address + size
    held = [0] * len(segments)
    for address, size in live:
        held[bisect_right(starts, address) - 1] += size
    tails = (end - last for (_, end), last in zip(segments, reached, strict=True))
    used = sum(
        end - start - size for (start, end), size in zip(segments, held, strict=True) if size
    )
    rest = sum(end - start for (start, end), size in zip(segments, held, strict=True) if not size)
    return used, rest, max(largest, *tails, 0)


def _segments_at(snapshot: "Snapshot", at: int) -> list[tuple[int, int]] | None:
    """Return start and end of what was reserved after an event, worked back from the snapshot."""
    ends = {
        segment.address or 0: (segment.address or 0) + segment.total_size
        for segment in snapshot.segments
    }
    for event in reversed(snapshot.events[at + 1 :]):
        start = event.addr or 0
        if event.action in _LESS:
            ends[start] = start + event.size
        elif event.action in _MORE and not _without(ends, start, start + event.size):
            return None
    return _joined(sorted(ends.items()), snapshot)


def _without(ends: dict[int, int], start: int, end: int) -> bool:
    """Take a piece out of a segment; False if none holds it whole."""
    whole = next((first for first in ends if first <= start and end <= ends[first]), None)
    if whole is None:
        return False
    last = ends.pop(whole)
    ends |= {first: until for first, until in ((whole, start), (end, last)) if first < until}
    return True


def _joined(pieces: Sequence[tuple[int, int]], snapshot: "Snapshot") -> list[tuple[int, int]]:
    """Return pieces with those of an expandable segment, which touch, as one."""
    expandable = any(segment.is_expandable for segment in snapshot.segments)
    joined: list[tuple[int, int]] = []
    for start, end in pieces:
        if expandable and joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
