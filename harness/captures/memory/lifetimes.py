"""How long blocks lived, and why segments were reserved, over the recorded history."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.evidence.tables import empty, frame

if TYPE_CHECKING:
    import polars as pl

    from harness.captures.memory.event_pools import Stands
    from harness.captures.memory.snapshot import AllocatorEvent, Segment
    from harness.captures.memory.stacks import StackNames

_SMALL = 2 << 20
"""kSmallBuffer of torch's c10/cuda/CUDACachingAllocator: segments for blocks of at most 1 MiB."""


def blocks(
    events: "list[AllocatorEvent]",
    pools: list[str] | None,
    allocated: list[int],
    names: "StackNames",
) -> "pl.DataFrame":
    """Return memory_blocks: each block of the history, from its event to the one that freed it.

    ``pools`` name the pool of each event, ``allocated`` are the bytes that it added. The table is
    empty where pools, and with them addresses, are not known.
    """
    if pools is None:
        return empty("memory_blocks")
    begun = [index for index, change in enumerate(allocated) if change > 0]
    ends: dict[int, int] = {}
    live: dict[int | None, int] = {}
    for index, change in enumerate(allocated):
        if change:
            address = events[index].addr
            if address in live:  # a release, or one that the history lacks
                ends[live.pop(address)] = index
            if change > 0:
                live[address] = index
    return frame(
        "memory_blocks",
        {
            "index": begun,
            "freed": [ends.get(index) for index in begun],
            "pool": [pools[index] for index in begun],
            "site": [names.site(events[index].frames) for index in begun],
            "bytes": [allocated[index] for index in begun],
        },
    )


def segments(
    events: "list[AllocatorEvent]",
    homes: "Sequence[Stands | None] | None",
    allocated: list[int],
    reserved: list[int],
    at_end: "list[Segment]",
) -> "pl.DataFrame":
    """Return memory_segments: each segment that the history reserved, and what was free then.

    ``homes`` are the segments of the events, ``at_end`` those of the snapshot. Free bytes are those
    in the partly used segments of the same pool, small or large. Expandable segments grow and have
    no rows. The table is empty where homes are not known.
    """
    if homes is None:
        return empty("memory_segments")
    held = _held_before(events, homes, allocated, at_end)
    free = _free_before(homes, held, at_end)
    rows: list[list[object]] = []
    row_of: dict[int, list[object]] = {}
    for index, home in enumerate(homes):
        if home is None or events[index].action in ("segment_map", "segment_unmap"):
            continue
        part, key = (home.named, home.span <= _SMALL), id(home)
        if events[index].action == "segment_alloc":
            row_of[key] = [index, None, home.named, reserved[index], free.get(part, 0)]
            rows.append(row_of[key])
        elif events[index].action == "segment_free" and key in row_of:
            row_of[key][1] = index
        if change := allocated[index]:
            before = held.get(key, 0)
            after = held[key] = before + change
            more = -change
            if (before > 0) != (after > 0):  # the whole segment begins or ends to be partly used
                more = _partly_used(home, after) - _partly_used(home, before)
            free[part] = free.get(part, 0) + more
    columns = zip(*rows, strict=True) if rows else ([], [], [], [], [])
    names = ("index", "freed", "pool", "bytes", "free_bytes")
    return frame("memory_segments", dict(zip(names, columns, strict=True)))


def _free_before(
    homes: "Sequence[Stands | None]", held: dict[int, int], at_end: "list[Segment]"
) -> dict[tuple[str, bool], int]:
    """Return the free bytes of partly used segments before the first event, by pool and size."""
    touched = {id(home): home for home in homes if home}
    sizes = [(home, held[key]) for key, home in touched.items() if key in held]
    rows = [(home.named, home.span, _partly_used(home, size)) for home, size in sizes]
    starts = {home.start for home in touched.values()}
    rows += [
        (segment.pool, segment.total_size, segment.total_size - segment.held)
        for segment in at_end
        if segment.held and not segment.is_expandable and segment.address not in starts
    ]
    free: dict[tuple[str, bool], int] = {}
    for pool, span, size in rows:
        free[pool, span <= _SMALL] = free.get((pool, span <= _SMALL), 0) + size
    return free


def _held_before(
    events: "list[AllocatorEvent]",
    homes: "Sequence[Stands | None]",
    allocated: list[int],
    at_end: "list[Segment]",
) -> dict[int, int]:
    """Return by segment the bytes that its blocks held before the first event, where there were."""
    last = {segment.address: segment.held for segment in at_end}
    held: dict[int, int] = {}
    stood = {id(home) for home in homes if home is not None}
    for index in range(len(homes) - 1, -1, -1):
        home = homes[index]
        if home is None:
            continue
        key = id(home)
        if key not in held:
            freed = events[index].action == "segment_free"
            held[key] = 0 if freed else last.get(home.start, 0)
        held[key] -= allocated[index]
        if events[index].action == "segment_alloc":
            stood.discard(key)
    return {key: size for key, size in held.items() if key in stood}


def _partly_used(home: "Stands", held: int) -> int:
    return home.span - held if held > 0 else 0
