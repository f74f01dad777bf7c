"""Pools over the history: what each held and reserved after every event that changed it."""

from typing import TYPE_CHECKING

from harness.evidence.tables import empty, frame

if TYPE_CHECKING:
    import polars as pl

    from harness.captures.memory.snapshot import Segment


def by_pool(
    segments: "list[Segment]", pools: list[str] | None, allocated: list[int], reserved: list[int]
) -> "pl.DataFrame":
    """Return memory_by_pool: a pool's bytes at index -1 and after each event that changed them.

    ``segments`` are those at the end; ``pools`` name the pool of each event, ``allocated`` and
    ``reserved`` are the bytes that it added. The table is empty where pools are not known, or where
    addresses contradict the segments: a pool would hold less than nothing.
    """
    if pools is None:
        return empty("memory_by_pool")
    held: dict[str, int] = {}
    kept: dict[str, int] = {}
    for segment in segments:
        held[segment.pool] = held.get(segment.pool, 0) + segment.held
        kept[segment.pool] = kept.get(segment.pool, 0) + segment.total_size
    rows: list[tuple[int, str, int, int]] = []
    for index in range(len(pools) - 1, -1, -1):
        pool = pools[index]
        if not pool:
            continue
        rows.append((index, pool, held.setdefault(pool, 0), kept.setdefault(pool, 0)))
        held[pool] -= allocated[index]
        kept[pool] -= reserved[index]
        if held[pool] < 0 or kept[pool] < 0:
            return empty("memory_by_pool")
    rows += [(-1, pool, held[pool], kept[pool]) for pool in held]
    columns = ("index", "pool", "allocated_bytes", "reserved_bytes")
    values = zip(*reversed(rows), strict=True) if rows else ([], [], [], [])
    return frame("memory_by_pool", dict(zip(columns, values, strict=True)))
