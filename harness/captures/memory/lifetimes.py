"""How long blocks lived, and why segments were reserved, over the recorded history."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.captures.memory.unsplit import SMALL_SEGMENT
from harness.evidence.tables import empty, frame

if TYPE_CHECKING:
    import polars as pl

    from harness.captures.memory.event_pools import Stands
    from harness.captures.memory.snapshot import AllocatorEvent, Segment, Snapshot
    from harness.captures.memory.stacks import StackNames


@dataclass(slots=True)
class Life:
    """A block from the event that handed it out to the one that freed it; bytes as rounded.

    ``begun`` is -1 for one that stood before the first event, ``freed`` None for one that stands
    at the snapshot, ``pool`` None where only an event's segment can tell. ``released`` is the event
    from which no tensor holds it: until it is freed, another stream may use it; None where that is
    not recorded. ``role`` is who asked, as evidence/roles.py names it.
    """

    begun: int
    freed: int | None
    address: int
    bytes: int
    site: str
    pool: str | None = None
    released: int | None = None
    role: str | None = None


def lives(snapshot: "Snapshot", sites: Sequence[str], names: "StackNames") -> list[Life]:
    """Return each block of the history, and of those that stood before it what is known.

    ``sites`` name the code of each event that handed a block out. A block from before has the stack
    that the snapshot has of it; one that was freed in the history has none. Empty where an address
    is missing.
    """
    found: list[Life] = []
    live: dict[int, Life] = {}
    for index, (event, change) in enumerate(zip(snapshot.events, snapshot.allocated, strict=True)):
        if event.action == "free_requested" and event.addr in live:
            live[event.addr].released = index
        if not change:
            continue
        if event.addr is None:
            return []
        known = live.pop(event.addr, None)
        if known:  # a release, or one that the history lacks
            known.freed = index
        elif change < 0:
            found.append(Life(-1, index, event.addr, -change, names.site(None)))
        if change > 0:
            role = names.role(event.frames)
            live[event.addr] = Life(index, None, event.addr, change, sites[index], role=role)
            found.append(live[event.addr])
    for address, (pool, block) in snapshot.standing.items():
        if address not in live:
            site, role = names.site(block.frames), names.role(block.frames)
            released = None if block.live else -1
            found.append(Life(-1, None, address, block.size, site, pool, released, role))
    return found


def blocks(lived: Sequence[Life], pools: list[str] | None) -> "pl.DataFrame":
    """Return memory_blocks; ``pools`` name the pool of each event, empty where they are None."""
    if pools is None:
        return empty("memory_blocks")
    rows = sorted(lived, key=lambda life: life.begun)
    return frame(
        "memory_blocks",
        {
            "index": [life.begun for life in rows],
            "freed": [life.freed for life in rows],
            "pool": [
                life.pool or pools[life.begun if life.begun >= 0 else life.freed or 0]
                for life in rows
            ],
            "site": [life.site for life in rows],
            "bytes": [life.bytes for life in rows],
            "released": [life.released for life in rows],
            "role": [life.role for life in rows],
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
    in the partly used segments of the same pool, small or large; cached ones, those in segments
    without a block. Expandable segments grow and have
    no rows. The table is empty where homes are not known.
    """
    if homes is None or not any(event.action == "segment_alloc" for event in events):
        return empty("memory_segments")
    held = _held_before(events, homes, allocated, at_end)
    free = _free_before(homes, held, at_end)
    rows: list[list[object]] = []
    row_of: dict[int, list[object]] = {}
    last = max(at for at, event in enumerate(events) if event.action == "segment_alloc")
    for index, home in enumerate(homes[: last + 1]):
        if home is None or events[index].action in ("segment_map", "segment_unmap"):
            continue
        key = id(home)
        parts = free.setdefault((home.named, home.span <= SMALL_SEGMENT), [0, 0])
        if events[index].action == "segment_alloc":
            row_of[key] = [index, None, home.named, reserved[index], *parts]
            rows.append(row_of[key])
            parts[_WHOLE] += home.span
        elif events[index].action == "segment_free":
            parts[_WHOLE] -= home.span
        if change := allocated[index]:
            before = held.get(key, 0)
            after = held[key] = before + change
            for at, kind in ((_USED, _partly_used), (_WHOLE, _unused)):
                parts[at] += kind(home.span, after) - kind(home.span, before)
    for index, event in enumerate(events):
        if event.action == "segment_free" and id(homes[index]) in row_of:
            row_of[id(homes[index])][1] = index
    columns = zip(*rows, strict=True) if rows else ([], [], [], [], [], [])
    names = ("index", "freed", "pool", "bytes", "free_bytes", "cached_bytes")
    return frame("memory_segments", dict(zip(names, columns, strict=True)))


_USED, _WHOLE = 0, 1
"""Free bytes of segments with blocks, and of segments without."""


def _free_before(
    homes: "Sequence[Stands | None]", held: dict[int, int], at_end: "list[Segment]"
) -> dict[tuple[str, bool], list[int]]:
    """Return the free bytes of segments before the first event, by pool and size."""
    touched = {id(home): home for home in homes if home}
    rows = [(home.named, home.span, held[key]) for key, home in touched.items() if key in held]
    starts = {home.start for home in touched.values()}
    rows += [
        (segment.pool, segment.total_size, segment.held)
        for segment in at_end
        if not segment.is_expandable and segment.address not in starts
    ]
    free: dict[tuple[str, bool], list[int]] = {}
    for pool, span, size in rows:
        parts = free.setdefault((pool, span <= SMALL_SEGMENT), [0, 0])
        parts[_USED] += _partly_used(span, size)
        parts[_WHOLE] += _unused(span, size)
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


def _partly_used(span: int, held: int) -> int:
    return span - held if held > 0 else 0


def _unused(span: int, held: int) -> int:
    return 0 if held > 0 else span
