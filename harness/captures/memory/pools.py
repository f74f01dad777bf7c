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
            "segments": [len(members) for members in by_pool.values()],
            "reserved_bytes": [
                sum(segment.total_size for segment in members) for members in by_pool.values()
            ],
            "allocated_bytes": [
                sum(segment.allocated_size for segment in members) for members in by_pool.values()
            ],
        },
    )


def parts(segments: "list[Segment]") -> "pl.DataFrame":
    """Return memory_parts: a row a pool and part; a pool's rows sum to its reserved bytes.

    A part that the file does not record is null: "live" then includes rounding, or "free in used
    segments" includes the bytes that wait to be free.
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
        for pool, members in _by_pool(segments).items()
        for part, size in zip(PARTS, _parts(members), strict=True)
    ]


def _by_pool(segments: "list[Segment]") -> "dict[str, list[Segment]]":
    by_pool: dict[str, list[Segment]] = {}
    for segment in segments:
        by_pool.setdefault(segment.pool, []).append(segment)
    return by_pool


def _parts(segments: "list[Segment]") -> tuple[int | None, ...]:
    allocated = sum(segment.allocated_size for segment in segments)
    asked = _sum([_requested(segment) for segment in segments])
    awaiting = _sum([segment.active_size for segment in segments])
    free = sum(segment.total_size for segment in segments if not segment.held)
    return (
        allocated if asked is None else asked,
        None if asked is None else allocated - asked,
        None if awaiting is None else awaiting - allocated,
        sum(segment.total_size - segment.held for segment in segments if segment.held),
        free,
    )


def _requested(segment: "Segment") -> int | None:
    """Return the bytes asked for by live blocks, None if the file does not tell them apart.

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
    numbers = [value for value in values if value is not None]
    return sum(numbers) if len(numbers) == len(values) else None
