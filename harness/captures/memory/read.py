"""torch's memory snapshots: pools at the end, the history before it, and who asked for what."""

from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from harness.evidence.tables import Tables, empty, frame
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl

    from harness.captures.memory.snapshot import Mark, Segment, Snapshot
    from harness.captures.memory.stacks import StackNames


_RESERVED = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
_COUNTED = ("count", "bytes", "peak_bytes")
_MOST_ROWS = 1_000_000

Phases = list[str | None]
"""The phase of each event; None before the first."""


def read(path: Path) -> Tables:
    """Return the memory tables of the device that reserved most.

    ``path`` is what ``torch.cuda.memory._dump_snapshot`` writes, of whatever origin, or the probe's
    JSON of the same structure. The history may have lost its start, so the timeline is worked back
    from the totals at its end. Events hold the size asked for; rounded as the allocator does, and
    with what it did not split off (unsplit.py), they give its own totals.

    Raises CaptureError for what is no snapshot, or whose history and totals contradict each other.
    """
    from harness.captures.formats.collection import paused

    with paused():
        return _tables(path)


def _tables(path: Path) -> Tables:
    from harness.captures.memory import event_pools, failures, lifetimes
    from harness.captures.memory.peaks import peaks
    from harness.captures.memory.pools import mark_parts, parts, pools
    from harness.captures.memory.snapshot import load
    from harness.captures.memory.stacks import StackNames

    snapshot = load(path)
    events, phases = snapshot.events, _phases(snapshot)
    more_allocated = snapshot.allocated
    more_reserved = [_RESERVED.get(event.action, 0) * event.size for event in events]
    # A block that waits to be free counts until its release is complete, as in the history.
    held = sum(segment.held for segment in snapshot.segments)
    allocated = _worked_back(path, held, more_allocated)
    timeline = frame(
        "memory_timeline",
        {
            "index": range(len(phases)),
            "time_ns": [e.time_us * 1000 if e.time_us is not None else None for e in events],
            "phase": phases,
            "action": [event.action for event in events],
            "allocated_bytes": allocated,
            "reserved_bytes": _worked_back(
                path, sum(segment.total_size for segment in snapshot.segments), more_reserved
            ),
        },
    )
    names = StackNames(path)
    sites = [
        names.site(event.frames) if change > 0 else ""
        for event, change in zip(events, more_allocated, strict=True)
    ]
    homes = event_pools.homes(snapshot, more_allocated, more_reserved)
    pool_of = event_pools.pools(homes, more_allocated, more_reserved)
    levels = by_pool(snapshot.segments, pool_of, more_allocated, more_reserved)
    lived = lifetimes.lives(snapshot, sites, names)
    peak = max(reversed(range(len(allocated))), key=allocated.__getitem__, default=-1)
    return {
        "memory_devices": frame("memory_devices", snapshot.devices),
        "memory_pools": pools(snapshot.segments),
        "memory_parts": parts(snapshot.segments),
        "memory_by_pool": levels,
        "memory_live": live(path, snapshot.segments, names),
        "memory_pool_peaks": peaks(path, events, pool_of, more_allocated, levels, names),
        "memory_blocks": lifetimes.blocks(lived, pool_of),
        "memory_failed": failures.failed(events, names),
        "memory_free": failures.free(snapshot, lived, peak),
        "memory_segments": lifetimes.segments(
            events, homes, more_allocated, more_reserved, snapshot.segments
        ),
        "memory_timeline": timeline,
        "memory_sites": _sites(path, snapshot, phases, allocated, sites),
        "memory_marks": _marks(snapshot.marks),
        "memory_mark_parts": mark_parts(snapshot.marks),
    }


def _marks(marks: "list[Mark]") -> "pl.DataFrame":
    """Return memory_marks: the driver's and the allocator's bytes at the end of each phase."""
    columns = {
        "index": range(len(marks)),
        "phase": [mark.phase for mark in marks],
        "time_ns": [mark.time_us * 1000 for mark in marks],
        "used_bytes": [mark.used_bytes for mark in marks],
        "reserved_bytes": [mark.reserved_bytes for mark in marks],
        "allocated_bytes": [mark.allocated_bytes for mark in marks],
        "outside_bytes": [mark.used_bytes - mark.reserved_bytes for mark in marks],
    }
    return frame("memory_marks", columns)


def _phases(snapshot: "Snapshot") -> Phases:
    """Return the phase that was the latest to begin when each event happened."""
    begun = [phase.time_us for phase in snapshot.phases]
    names = [None, *(phase.name for phase in snapshot.phases)]
    phases: Phases = []
    current = None
    for event in snapshot.events:
        if event.time_us is not None:
            current = names[bisect_right(begun, event.time_us)]
        phases.append(current)
    return phases


def _worked_back(path: Path, final: int, changes: list[int]) -> list[int]:
    """Return the bytes after each change, such that they end at ``final``."""
    levels = list(accumulate(changes, initial=final - sum(changes)))
    if min(levels) < 0:
        raise CaptureError(
            "the history and the totals at its end contradict each other", where=path
        )
    return levels[1:]


def _sites(
    path: Path, snapshot: "Snapshot", phases: Phases, allocated: list[int], sites: list[str]
) -> "pl.DataFrame":
    """Return count and bytes asked for by phase and site, and those live at the phase's peak.

    What was allocated before the history began, or in an earlier phase, has no count here; the
    latter is among the peak's bytes.
    """
    peaks = _peaks(phases, allocated)
    rows: dict[tuple[str | None, str], list[int]] = {}
    blocks: dict[int | None, tuple[str, int]] = {}
    live: dict[str, int] = {}
    for index, (event, phase) in enumerate(zip(snapshot.events, phases, strict=True)):
        action = event.action
        if (action == "free_completed" or action == "alloc") and event.addr in blocks:
            site, size = blocks.pop(event.addr)
            live[site] = live.get(site, 0) - size
        if action == "alloc":
            site = sites[index]
            row = rows.setdefault((phase, site), [0, 0, 0])
            row[0] += 1
            row[1] += event.size
            blocks[event.addr] = (site, event.size)
            live[site] = live.get(site, 0) + event.size
        if index == peaks[phase]:
            live = {site: size for site, size in live.items() if size}
            for site, size in live.items():
                rows.setdefault((phase, site), [0, 0, 0])[2] = size
            if len(rows) > _MOST_ROWS:
                raise CaptureError(f"more than {_MOST_ROWS} sites and phases", where=path)
    columns = {name: [row[at] for row in rows.values()] for at, name in enumerate(_COUNTED)}
    keys = {"phase": [phase for phase, _ in rows], "site": [site for _, site in rows]}
    return frame("memory_sites", keys | columns)


def _peaks(phases: Phases, allocated: list[int]) -> dict[str | None, int]:
    """Return by phase the index of the first event that has its most allocated bytes."""
    peaks: dict[str | None, int] = {}
    for index, phase in enumerate(phases):
        if phase not in peaks or allocated[index] > allocated[peaks[phase]]:
            peaks[phase] = index
    return peaks


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
    indices = [index for index in range(len(pools) - 1, -1, -1) if pools[index]]
    levels: tuple[list[int], list[int]] = ([], [])
    for index in indices:
        pool = pools[index]
        levels[0].append(held.setdefault(pool, 0))
        levels[1].append(kept.setdefault(pool, 0))
        held[pool] -= allocated[index]
        kept[pool] -= reserved[index]
        if held[pool] < 0 or kept[pool] < 0:
            return empty("memory_by_pool")
    columns = {
        "index": [*indices, *[-1] * len(held)][::-1],
        "pool": [*map(pools.__getitem__, indices), *held][::-1],
        "allocated_bytes": [*levels[0], *held.values()][::-1],
        "reserved_bytes": [*levels[1], *kept.values()][::-1],
    }
    return frame("memory_by_pool", columns)


_MOST_STACKS = 200_000
_KEYS = ("pool", "site", "stack")


def live(path: Path, segments: "list[Segment]", names: "StackNames") -> "pl.DataFrame":
    """Return memory_live: count and bytes of live blocks by pool, site and stack, most first.

    The bytes asked for are null where any of the blocks does not tell. Segments without blocks
    have no rows. Raises CaptureError, naming ``path``, for over 200 000 rows.
    """
    rows: dict[tuple[str, str, str], list[int]] = {}
    for segment in segments:
        for block in segment.blocks or []:
            if not block.live:
                continue
            key = (segment.pool, names.site(block.frames), names.stack(block.frames))
            row = rows.setdefault(key, [0, 0, 0, 0])
            row[0] += 1
            row[1] += block.size
            row[2] += block.requested_size or 0
            row[3] += block.requested_size is None
        if len(rows) > _MOST_STACKS:
            raise CaptureError(f"more than {_MOST_STACKS} stacks of live blocks", where=path)
    ranked = sorted(rows.items(), key=lambda row: (-row[1][1], row[0]))
    keys = {name: [key[at] for key, _ in ranked] for at, name in enumerate(_KEYS)}
    sums = {
        "count": [row[0] for _, row in ranked],
        "bytes": [row[1] for _, row in ranked],
        "requested_bytes": [None if row[3] else row[2] for _, row in ranked],
    }
    return frame("memory_live", keys | sums)
