"""The allocator's pools at a snapshot and at its marks, and what their reserved bytes are."""

from typing import TYPE_CHECKING

from harness.evidence.tables import frame

if TYPE_CHECKING:
    import polars as pl

    from harness.captures.memory.snapshot import Mark, Segment

PARTS = ("live", "rounding", "awaiting free", "free in used segments", "free segments")


def pools(segments: "list[Segment]") -> "pl.DataFrame":
    """Return memory_pools: segments, reserved and allocated bytes by pool."""
    by_pool = _by_pool(segments)
    return frame(
        "memory_pools",
        {
            "pool": list(by_pool),
            "segments": [len(mine) for mine in by_pool.values()],
            "reserved_bytes": [sum(one.total_size for one in mine) for mine in by_pool.values()],
            "allocated_bytes": [
                sum(one.allocated_size for one in mine) for mine in by_pool.values()
            ],
        },
    )


def parts(segments: "list[Segment]") -> "pl.DataFrame":
    """Return memory_parts: a row a pool and part; a pool's rows sum to its reserved bytes.

    A part that the file cannot tell is null: "live" then holds what was rounded up, too, or "free
    in used segments" what waits to be free.
    """
    rows = _rows(segments)
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return frame("memory_parts", dict(zip(("pool", "part", "bytes"), columns, strict=True)))


def mark_parts(marks: "list[Mark]") -> "pl.DataFrame":
    """Return memory_mark_parts: the same of the segments that stood at each mark."""
    rows = [(at, *row) for at, mark in enumerate(marks) for row in _rows(mark.segments)]
    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    names = ("index", "pool", "part", "bytes")
    return frame("memory_mark_parts", dict(zip(names, columns, strict=True)))


def _rows(segments: "list[Segment]") -> list[tuple[str, str, int | None]]:
    return [
        (pool, part, size)
        for pool, mine in _by_pool(segments).items()
        for part, size in zip(PARTS, _parts(mine), strict=True)
    ]


def _by_pool(segments: "list[Segment]") -> "dict[str, list[Segment]]":
    found: dict[str, list[Segment]] = {}
    for segment in segments:
        found.setdefault(segment.pool, []).append(segment)
    return found


def _parts(segments: "list[Segment]") -> tuple[int | None, ...]:
    allocated = sum(one.allocated_size for one in segments)
    asked = _sum([_requested(one) for one in segments])
    awaiting = _sum([one.active_size for one in segments])
    free = sum(one.total_size for one in segments if not one.held)
    return (
        allocated if asked is None else asked,
        None if asked is None else allocated - asked,
        None if awaiting is None else awaiting - allocated,
        sum(one.total_size - one.held for one in segments if one.held),
        free,
    )


def _requested(segment: "Segment") -> int | None:
    """Return the bytes asked for by live blocks, None if they are not told apart.

    A segment's own figure counts blocks that wait to be free as well, so it serves if none does.
    """
    if segment.allocated_size == 0:
        return 0
    if segment.blocks is not None:
        return _sum([block.requested_size for block in segment.blocks if block.live])
    if segment.active_size != segment.allocated_size:
        return None
    return segment.requested_size


def _sum(values: list[int | None]) -> int | None:
    """Return the sum, None if any is not recorded: part of a sum is not the sum."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
