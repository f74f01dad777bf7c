"""What filled each pool when it held most: its blocks then, by the code that asked for them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.captures.memory.stacks import StackNames
from harness.evidence.tables import empty, frame
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl

    from harness.captures.memory.snapshot import AllocatorEvent

_MOST_ROWS = 200_000
_KEYS = ("pool", "site", "stack")

Block = tuple[int, Any]
"""Bytes and frames."""


def peaks(
    path: Path,
    events: "list[AllocatorEvent]",
    pools: list[str] | None,
    allocated: list[int],
    levels: "pl.DataFrame",
    names: StackNames,
) -> "pl.DataFrame":
    """Return memory_pool_peaks: blocks live at the first peak of each pool, most bytes first.

    ``pools`` name the pool of each event, ``allocated`` are the bytes that it added, ``levels`` is
    memory_by_pool. A pool's rows sum to its peak: what it held beyond blocks of the history has no
    stack, and where that is in it, the count is null. The table is empty where levels are, or where
    blocks contradict them. Raises CaptureError, naming ``path``, for over 200 000 rows.
    """
    tops = _tops(levels)
    blocks = _blocks(events, pools or [], allocated, {pool: at for pool, at, _ in tops})
    rows: dict[tuple[str, str, str], list[int]] = {}
    for pool, _, top in tops:
        live = blocks.get(pool, [])
        beyond = top - sum(size for size, _ in live)
        if beyond < 0:
            return empty("memory_pool_peaks")
        for size, frames in [*live, (beyond, None)] if beyond else live:
            row = rows.setdefault((pool, names.site(frames), names.stack(frames)), [0, 0, 0])
            row[0] += 1
            row[1] += size
        if beyond:
            rows[pool, names.site(None), names.stack(None)][2] = 1
        if len(rows) > _MOST_ROWS:
            raise CaptureError(f"more than {_MOST_ROWS} stacks at the peaks of pools", where=path)
    ranked = sorted(rows.items(), key=lambda row: (-row[1][1], row[0]))
    keys = {name: [key[at] for key, _ in ranked] for at, name in enumerate(_KEYS)}
    sums = {
        "count": [None if row[2] else row[0] for _, row in ranked],
        "bytes": [row[1] for _, row in ranked],
    }
    return frame("memory_pool_peaks", keys | sums)


def _tops(levels: "pl.DataFrame") -> list[tuple[str, int, int]]:
    """Return pool, event and allocated bytes of each first peak; never of a pool that held none."""
    first = levels.sort("allocated_bytes", "index", descending=[True, False]).unique(
        "pool", keep="first", maintain_order=True
    )
    rows = first.select("pool", "index", "allocated_bytes").rows()
    return [(pool, at, top) for pool, at, top in rows if top]


def _blocks(
    events: "list[AllocatorEvent]", pools: list[str], allocated: list[int], tops: dict[str, int]
) -> dict[str, list[Block]]:
    """Return by pool the blocks of the history that are live after its event in ``tops``."""
    live: dict[str, dict[int | None, Block]] = {}
    homes: dict[int | None, str] = {}  # the pool of each address
    at_tops: dict[str, list[Block]] = {}
    for index, pool in enumerate(pools):
        event, change = events[index], allocated[index]
        if not change:
            continue
        if event.addr in homes:  # a release, or one that the history lacks
            del live[homes.pop(event.addr)][event.addr]
        if change > 0:
            homes[event.addr] = pool
            live.setdefault(pool, {})[event.addr] = (change, event.frames)
        if tops.get(pool) == index:
            at_tops[pool] = list(live.get(pool, {}).values())
    return at_tops
