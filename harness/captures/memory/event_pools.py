"""Which pool each event of the history belongs to.

Events do not record their pool; the segments of the snapshot and of its marks do. So the history is
walked from its end back to its start: a segment appears where it was freed and vanishes where it
was reserved, and every event at its addresses in between belongs to its pool.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.evidence.tables import FREED_POOL

if TYPE_CHECKING:
    from harness.captures.memory.snapshot import AllocatorEvent, Segment, Snapshot

_MAPPING = ("segment_map", "segment_unmap")


def homes(
    snapshot: "Snapshot", allocated: list[int], reserved: list[int]
) -> "list[Stands | None] | None":
    """Return the segment of each event; None for one that changed nothing or is of no known one.

    ``allocated`` and ``reserved`` are the bytes that each event added. None where addresses are not
    recorded. Marks from before the first event name nothing: events after them may be lost.
    """
    changes = [bool(change or mapped) for change, mapped in zip(allocated, reserved, strict=True)]
    if any(segment.address is None for segment in snapshot.segments) or any(
        changed and event.addr is None
        for event, changed in zip(snapshot.events, changes, strict=True)
    ):
        return None
    standing = _Standing(snapshot)
    marks = list(snapshot.marks)
    segments: list[Stands | None] = []
    for at in range(len(changes) - 1, -1, -1):
        event = snapshot.events[at]
        while marks and event.time_us is not None and event.time_us <= marks[-1].time_us:
            standing.name(marks.pop().segments)
        segments.append(standing.before(event, reserved[at]) if changes[at] else None)
    segments.reverse()
    return segments


def pools(
    homes: "list[Stands | None] | None", allocated: list[int], reserved: list[int]
) -> list[str] | None:
    """Return the pool of each event, FREED_POOL if not known; "" for one that changed nothing."""
    if homes is None:
        return None
    return [
        "" if not (change or mapped) else FREED_POOL if home is None else home.named
        for home, change, mapped in zip(homes, allocated, reserved, strict=True)
    ]


@dataclass(eq=False, slots=True)
class Stands:
    """A segment from when it is reserved until it is gone; ``size`` is its mapped bytes."""

    start: int
    end: int
    size: int = 0
    pool: str | None = None

    @property
    def named(self) -> str:
        """Return the name of its pool, FREED_POOL if not known."""
        return self.pool or FREED_POOL

    @property
    def span(self) -> int:
        """Return the bytes of a segment that is not expandable."""
        return self.end - self.start


class _Standing:
    """The segments that stand, asked event by event from the last to the first."""

    def __init__(self, snapshot: "Snapshot") -> None:
        self._plain = _Plain()
        self._expandable = _Expandable(snapshot)
        for segment in snapshot.segments:
            of_kind = self._expandable if segment.is_expandable else self._plain
            of_kind.before(segment.address or 0, -segment.total_size)
        self.name(snapshot.segments)

    def before(self, event: "AllocatorEvent", reserved: int) -> Stands | None:
        """Return the segment of an event that added ``reserved`` bytes, and undo the event."""
        address = event.addr or 0
        if event.action in _MAPPING:
            return self._expandable.before(address, reserved)
        return self._plain.before(address, reserved) or self._expandable.before(address, 0)

    def name(self, segments: "Iterable[Segment]") -> None:
        """Give a mark's pools to standing segments; a plain one has to span the same addresses."""
        for segment in segments:
            if segment.address is None:
                continue
            of_kind = self._expandable if segment.is_expandable else self._plain
            standing = of_kind.before(segment.address, 0)
            whole = (segment.address, segment.address + segment.total_size)
            if standing and (segment.is_expandable or (standing.start, standing.end) == whole):
                standing.pool = standing.pool or segment.pool


class _Plain:
    """Segments that are reserved and freed as one."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stand: list[Stands] = []

    def before(self, address: int, reserved: int) -> Stands | None:
        """Return the segment at ``address``, from before ``reserved`` bytes were added to it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._stand[at].end:
            if reserved >= 0:
                return None
            at += 1
            self._starts.insert(at, address)
            self._stand.insert(at, Stands(address, address - reserved))
        segment = self._stand[at]
        segment.size -= reserved
        if segment.size <= 0:
            del self._starts[at], self._stand[at]
        return segment


class _Expandable:
    """Segments that are mapped piece by piece, each in a range of addresses of its own.

    A range is larger than the GPU's memory, reserved for one pool at a time and mapped from its
    start. So pieces that touch are of one range, and one segment as long as any of it is mapped.
    """

    def __init__(self, snapshot: "Snapshot") -> None:
        ranges = _ranges(snapshot)
        self._starts = [start for start, _ in ranges]
        self._ends = [end for _, end in ranges]
        self._stand: list[Stands | None] = [None] * len(ranges)

    def before(self, address: int, reserved: int) -> Stands | None:
        """Return the segment at ``address``, from before ``reserved`` bytes were added to it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._ends[at]:
            return None
        segment = self._stand[at]
        if segment is None and reserved < 0:
            segment = Stands(self._starts[at], self._ends[at])
        if segment:
            segment.size -= reserved
            self._stand[at] = segment if segment.size > 0 else None
        return segment


def _ranges(snapshot: "Snapshot") -> list[tuple[int, int]]:
    """Return first address and end of ranges of addresses that are mapped at any time, in order."""
    pieces = [
        (segment.address or 0, segment.total_size)
        for segment in snapshot.segments
        if segment.is_expandable
    ]
    pieces += [
        (event.addr or 0, event.size) for event in snapshot.events if event.action in _MAPPING
    ]
    joined: list[tuple[int, int]] = []
    for start, size in sorted(pieces):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], start + size))
        else:
            joined.append((start, start + size))
    return joined
