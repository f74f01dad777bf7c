"""Pools over the history: to which pool each event of the allocator belongs.

Only segments that stand at the end say their pool. So the history is walked from its end back to
its start, and an address belongs to the segment that holds it for as long as that one stands.
"""

from bisect import bisect_right
from typing import TYPE_CHECKING

from harness.evidence import FREED_POOL, empty, frame

if TYPE_CHECKING:
    import polars as pl

    from harness.captures.memory_snapshot import Event, Segment, Snapshot

_MAPPING = ("segment_map", "segment_unmap")


def by_pool(snapshot: "Snapshot", allocated: list[int], reserved: list[int]) -> "pl.DataFrame":
    """Return memory_by_pool: a pool's bytes at index -1 and after each event that changed them.

    ``allocated`` and ``reserved`` are the bytes that each event added. The table is empty where
    addresses are not recorded, or contradict the segments: a pool would hold less than nothing.
    """
    changed = [at for at, size in enumerate(allocated) if size or reserved[at]]
    if any(segment.address is None for segment in snapshot.segments) or any(
        snapshot.events[index].addr is None for index in changed
    ):
        return empty("memory_by_pool")
    places = _Places(snapshot.segments, snapshot.events)
    held: dict[str, int] = {}
    kept: dict[str, int] = {}
    for segment in snapshot.segments:
        held[segment.pool] = held.get(segment.pool, 0) + segment.held
        kept[segment.pool] = kept.get(segment.pool, 0) + segment.total_size
    rows: list[tuple[int, str, int, int]] = []
    for index in reversed(changed):
        pool = places.before(snapshot.events[index], reserved[index])
        rows.append((index, pool, held.setdefault(pool, 0), kept.setdefault(pool, 0)))
        held[pool] -= allocated[index]
        kept[pool] -= reserved[index]
        if held[pool] < 0 or kept[pool] < 0:
            return empty("memory_by_pool")
    rows += [(-1, pool, held[pool], kept[pool]) for pool in held]
    columns = ("index", "pool", "allocated_bytes", "reserved_bytes")
    values = zip(*reversed(rows), strict=True) if rows else ([], [], [], [])
    return frame("memory_by_pool", dict(zip(columns, values, strict=True)))


class _Places:
    """Stretches of addresses and their pools, asked event by event from the last to the first."""

    def __init__(self, segments: "list[Segment]", events: "list[Event]") -> None:
        places = _stretches(segments, events)
        self._starts = [start for start, _, _, _ in places]
        self._ends = [end for _, end, _, _ in places]
        self._pools = [pool for _, _, pool, _ in places]
        self._standing = [size for _, _, _, size in places]

    def before(self, event: "Event", reserved: int) -> str:
        """Return the pool of an event and go back to before it; it added ``reserved`` bytes."""
        address = event.addr or 0
        at = bisect_right(self._starts, address) - 1
        # With nothing of it mapped, what was there earlier was another segment.
        if at < 0 or address >= self._ends[at] or self._standing[at] <= 0:
            return FREED_POOL
        self._standing[at] -= reserved
        return self._pools[at]


def _stretches(segments: "list[Segment]", events: "list[Event]") -> list[tuple[int, int, str, int]]:
    """Return first address, end, pool and mapped bytes of what stands at the end, in order.

    An expandable segment is a range of addresses, reserved for one pool and larger than the GPU's
    memory, that is mapped piece by piece from its start. So pieces that touch are of one segment,
    and what stands of it tells the pool of pieces that were unmapped.
    """
    plain = [
        (segment.address or 0, (segment.address or 0) + segment.total_size, segment.pool, size)
        for segment in segments
        if not segment.is_expandable and (size := segment.total_size)
    ]
    pieces = [
        (segment.address or 0, segment.total_size, segment.pool)
        for segment in segments
        if segment.is_expandable and segment.total_size
    ]
    if pieces:
        pieces += [(one.addr or 0, one.size, "") for one in events if one.action in _MAPPING]
    joined: list[tuple[int, int, str, int]] = []
    for start, size, pool in sorted(pieces):
        standing = size if pool else 0
        last = joined[-1] if joined else None
        if last and start <= last[1] and (not pool or last[2] in ("", pool)):
            joined[-1] = (last[0], max(last[1], start + size), last[2] or pool, last[3] + standing)
        else:
            joined.append((start, start + size, pool, standing))
    return sorted(plain + [one for one in joined if one[2]])
