"""Which pool each event of the history belongs to.

Events do not say it. Segments do that stand at the end or stood at a mark, so the history is walked
from its end back to its start: a segment appears where it was freed and vanishes where it was
reserved, and every event at its addresses in between is of its pool.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.evidence.tables import FREED_POOL

if TYPE_CHECKING:
    from harness.captures.memory.snapshot import Event, Segment, Snapshot

_MAPPING = ("segment_map", "segment_unmap")


def of_events(snapshot: "Snapshot", allocated: list[int], reserved: list[int]) -> list[str] | None:
    """Return the pool of each event, FREED_POOL if not known; "" for one that changed nothing.

    ``allocated`` and ``reserved`` are the bytes that each event added. None where addresses are not
    recorded. Marks from before the first event name nothing: events after them may be lost.
    """
    changes = [bool(one or other) for one, other in zip(allocated, reserved, strict=True)]
    if any(segment.address is None for segment in snapshot.segments) or any(
        changed and event.addr is None
        for event, changed in zip(snapshot.events, changes, strict=True)
    ):
        return None
    standing = _Standing(snapshot)
    marks = list(snapshot.marks)
    found: list[_Stands | None] = []
    for at in range(len(changes) - 1, -1, -1):
        event = snapshot.events[at]
        while marks and event.time_us is not None and event.time_us <= marks[-1].time_us:
            standing.name(marks.pop().segments)
        found.append(standing.before(event, reserved[at]) if changes[at] else None)
    found.reverse()
    return [
        "" if not changed else FREED_POOL if one is None else one.pool or FREED_POOL
        for one, changed in zip(found, changes, strict=True)
    ]


@dataclass(eq=False, slots=True)
class _Stands:
    """A segment from when it is reserved until it is gone; ``size`` is what of it is mapped."""

    start: int
    end: int
    size: int = 0
    pool: str | None = None


class _Standing:
    """The segments that stand, asked event by event from the last to the first."""

    def __init__(self, snapshot: "Snapshot") -> None:
        self._plain = _Plain()
        self._expandable = _Expandable(snapshot)
        for one in snapshot.segments:
            of_kind = self._expandable if one.is_expandable else self._plain
            of_kind.before(one.address or 0, -one.total_size)
        self.name(snapshot.segments)

    def before(self, event: "Event", reserved: int) -> _Stands | None:
        """Return where an event happened and go back to before it; it added ``reserved`` bytes."""
        address = event.addr or 0
        if event.action in _MAPPING:
            return self._expandable.before(address, reserved)
        return self._plain.before(address, reserved) or self._expandable.before(address, 0)

    def name(self, segments: "Iterable[Segment]") -> None:
        """Give what stands the pools of a mark's segments; others stood there at other times."""
        for segment in segments:
            if segment.address is None:
                continue
            of_kind = self._expandable if segment.is_expandable else self._plain
            found = of_kind.before(segment.address, 0)
            whole = (segment.address, segment.address + segment.total_size)
            if found and (segment.is_expandable or (found.start, found.end) == whole):
                found.pool = found.pool or segment.pool


class _Plain:
    """Segments that are reserved and freed as one."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stand: list[_Stands] = []

    def before(self, address: int, reserved: int) -> _Stands | None:
        """Return what stands at ``address`` and go back to before ``reserved`` bytes were added."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._stand[at].end:
            if reserved >= 0:
                return None
            at += 1
            self._starts.insert(at, address)
            self._stand.insert(at, _Stands(address, address - reserved))
        found = self._stand[at]
        found.size -= reserved
        if found.size <= 0:
            del self._starts[at], self._stand[at]
        return found


class _Expandable:
    """Segments that are mapped piece by piece, each in a range of addresses of its own.

    A range is larger than the GPU's memory, reserved for one pool at a time and mapped from its
    start. So pieces that touch are of one range, and one segment as long as any of it is mapped.
    """

    def __init__(self, snapshot: "Snapshot") -> None:
        ranges = _ranges(snapshot)
        self._starts = [start for start, _ in ranges]
        self._ends = [end for _, end in ranges]
        self._stand: list[_Stands | None] = [None] * len(ranges)

    def before(self, address: int, reserved: int) -> _Stands | None:
        """Return what stands at ``address`` and go back to before ``reserved`` bytes were added."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._ends[at]:
            return None
        found = self._stand[at]
        if found is None and reserved < 0:
            found = _Stands(self._starts[at], self._ends[at])
        if found:
            found.size -= reserved
            self._stand[at] = found if found.size > 0 else None
        return found


def _ranges(snapshot: "Snapshot") -> list[tuple[int, int]]:
    """Return first address and end of ranges of addresses that are mapped at any time, in order."""
    pieces = [(one.address or 0, one.total_size) for one in snapshot.segments if one.is_expandable]
    pieces += [(one.addr or 0, one.size) for one in snapshot.events if one.action in _MAPPING]
    joined: list[tuple[int, int]] = []
    for start, size in sorted(pieces):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], start + size))
        else:
            joined.append((start, start + size))
    return joined
