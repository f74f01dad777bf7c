"""A caching allocator in miniature, which knows the pool of everything that it did."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from hypothesis import strategies as st

POOLS = {(0, 0): "default", (0, 1): "graph pool (0, 1)", (0, 2): "graph pool (0, 2)"}
PIECE = 100
"""Bytes of which segments consist, and expandable ones are mapped and unmapped."""

Blocks = dict[int, tuple[int, str]]
"""Size and site by address."""

Option = TypeVar("Option", int, tuple[int, int])


@dataclass(eq=False)
class Stands:
    """A segment from when it is reserved until it is gone."""

    address: int
    pool: tuple[int, int]
    expandable: bool
    pieces: set[int] = field(default_factory=lambda: {0})
    blocks: Blocks = field(default_factory=dict)
    seen: list[int] = field(default_factory=list)  # how much had happened at marks and the end

    def dumped(self) -> list[dict[str, Any]]:
        """Return what torch's snapshot has of it: a part for each run of pieces."""
        runs: list[list[int]] = []
        for piece in sorted(self.pieces):
            if runs and runs[-1][-1] == piece - 1:
                runs[-1].append(piece)
            else:
                runs.append([piece])
        return [self._run(self.address + PIECE * run[0], PIECE * len(run)) for run in runs]

    def _run(self, begin: int, size: int) -> dict[str, Any]:
        inside = [one for at, (one, _) in self.blocks.items() if begin <= at < begin + size]
        return {
            "address": begin,
            "total_size": size,
            "allocated_size": sum(inside),
            "segment_pool_id": list(self.pool),
            "is_expandable": self.expandable,
        }


@dataclass
class Allocator:
    """Its history, its marks, and by event what stood after it: segment, bytes, live blocks."""

    standing: dict[int, Stands] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    truth: list[list[tuple[Stands, int, Blocks]]] = field(default_factory=list)

    @classmethod
    def after(cls, made: Iterable[tuple[str, int, int]]) -> Self:
        """Return one that did all of ``made``: what, place and number of each step."""
        one = cls()
        for step in made:
            one.do(*step)
        return one

    def do(self, what: str, place: int, number: int) -> None:
        """Do it at one of few places in the way that ``number`` picks, if there is one."""
        segment = self.standing.get(place)
        if what == "mark":
            self.mark()
        elif segment is None:
            self._reserve(place, number, expandable=what == "expandable")
        elif what == "alloc":
            self._alloc(segment, number)
        elif what == "free" and segment.blocks:
            address = _picked(segment.blocks, number)
            self._event("free_completed", address, segment.blocks.pop(address)[0])
        elif what == "more" and segment.expandable:
            self._more(segment, number)
        elif what == "less":
            self._less(place, segment, number)

    def mark(self) -> None:
        """Note what stands now."""
        for segment in self.standing.values():
            segment.seen.append(len(self.history))
        self.marks.append(
            {
                "phase": str(len(self.marks)),
                "time_us": 2 * len(self.history) + 1,
                "used_bytes": 0,
                "reserved_bytes": 0,
                "allocated_bytes": 0,
                "segments": self.dumped(),
            }
        )

    def dumped(self) -> list[dict[str, Any]]:
        """Return the segments as a snapshot has them."""
        return [part for one in self.standing.values() for part in one.dumped()]

    def snapshot(self, lost: int = 0) -> dict[str, Any]:
        """Return the end of the history and all the rest, as in torch's snapshot."""
        for segment in self.standing.values():
            segment.seen.append(len(self.history) + 1)
        history = self.history[lost:]
        return {"segments": self.dumped(), "device_traces": [history], "marks": self.marks}

    def _reserve(self, place: int, number: int, expandable: bool) -> None:
        pieces = set(range(1 + number % 3))
        pool = _picked(POOLS, number)
        segment = self.standing[place] = Stands(1000 * (1 + place), pool, expandable, pieces)
        action = "segment_map" if expandable else "segment_alloc"
        self._event(action, segment.address, PIECE * len(pieces))

    def _alloc(self, segment: Stands, number: int) -> None:
        slots = {segment.address + PIECE * one + 25 * at for one in segment.pieces for at in (0, 1)}
        if not slots - segment.blocks.keys():
            return
        address = _picked(slots - segment.blocks.keys(), number)
        segment.blocks[address] = (1 + number, f"w/{number % 3}.py:7 f")
        frames = [{"filename": f"/home/w/{number % 3}.py", "line": 7, "name": "f"}]
        self._event("alloc", address, 1 + number, frames)

    def _more(self, segment: Stands, number: int) -> None:
        """Map unmapped pieces from where mapped ones end, or from the beginning, as torch does."""
        first = _picked({0, *(one + 1 for one in segment.pieces)} - segment.pieces, number)
        last = first
        while last - first < number % 3 and last + 1 not in segment.pieces:
            last += 1
        if last < 9:
            segment.pieces |= set(range(first, last + 1))
            self._event("segment_map", segment.address + PIECE * first, PIECE * (last + 1 - first))

    def _less(self, place: int, segment: Stands, number: int) -> None:
        """Give back a plain segment that is free, or pieces of an expandable one that are."""
        free = segment.pieces - {(at - segment.address) // PIECE for at in segment.blocks}
        if not free or (free != segment.pieces and not segment.expandable):
            return
        if not segment.expandable:
            del self.standing[place]
            self._event("segment_free", segment.address, PIECE * len(segment.pieces))
            return
        first = last = _picked(free, number)
        while last - first < number % 3 and last + 1 in free:
            last += 1
        segment.pieces -= set(range(first, last + 1))
        if not segment.pieces:
            del self.standing[place]
        self._event("segment_unmap", segment.address + PIECE * first, PIECE * (last + 1 - first))

    def _event(self, action: str, address: int, size: int, frames: Any = None) -> None:
        time_us = 2 * (len(self.history) + 1)
        made = {"action": action, "addr": address, "size": size, "time_us": time_us}
        self.history.append(made | {"frames": frames})
        self.truth.append(
            [(one, PIECE * len(one.pieces), dict(one.blocks)) for one in self.standing.values()]
        )


def steps(kinds: str, places: int) -> st.SearchStrategy[list[tuple[str, int, int]]]:
    """Return lists of what to do; the same places are used again and again."""
    one = st.tuples(st.sampled_from(kinds.split()), st.integers(0, places - 1), st.integers(0, 11))
    return st.integers(0, 100).flatmap(lambda size: st.lists(one, min_size=size, max_size=size))


def _picked(options: Collection[Option], number: int) -> Option:
    return sorted(options)[number % len(options)]
