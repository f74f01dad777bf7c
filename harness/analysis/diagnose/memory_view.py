"""What findings on memory read: one snapshot of the caching allocator, in its measured steps.

The measured steps are the phases that follow a warm-up, as the probe records them. A
snapshot without such a phase is read from the beginning of its history to its end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from harness.analysis import memory
from harness.analysis.diagnose import memory_thresholds, thresholds
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.memory_growth import Growth, Steps, growth
from harness.evidence.capture import NO_STACK, Capture
from harness.evidence.tables import FREED_POOL, GRAPH_POOL, Tables

FREE_SEGMENTS = "free segments"
BACKWARD = pl.col("role").is_null() & (
    (pl.col("site") == NO_STACK) | pl.col("site").str.contains("::", literal=True)
)
"""Blocks that a backward pass asked for: its thread has no Python frame."""


@dataclass(frozen=True)
class MemoryView:
    """One snapshot; sizes are bytes.

    ``levels`` are the rows of memory_timeline in the measured steps, ``first`` and ``last`` their
    events. ``peak`` is the most that was reserved in them, ``held`` the most that was ever
    allocated until they ended. ``blocks`` are memory_blocks until then, ``freed`` null where a
    block outlived the steps. ``segments`` are memory_segments that stood in them. ``pools`` are the
    bytes that each pool reserves and holds as they end, its number of events in them and its last;
    ``phases`` each pool's events by phase. ``before`` was allocated before the history began,
    ``cached`` is in segments without a block as the steps end. ``failed`` are memory_failed,
    ``free`` memory_free. ``capacity`` is the device's memory, None where no capture tells it.
    """

    source: str
    levels: pl.DataFrame
    first: int
    last: int
    peak: int
    held: int
    before: int
    blocks: pl.DataFrame
    segments: pl.DataFrame
    pools: pl.DataFrame
    phases: pl.DataFrame
    cached: int
    failed: pl.DataFrame
    free: pl.DataFrame
    by_phase: bool
    capacity: int | None = None
    share: float = 1.0

    @property
    def recorded(self) -> bool:
        """Whether there is a history with addresses: without it nothing can be told."""
        return bool(self.levels.height and self.pools.height)

    @property
    def late(self) -> bool:
        """Whether memory was in use before the history and the measured steps began."""
        return bool(not self.by_phase and self.before)

    @cached_property
    def top(self) -> tuple[int, int]:
        """The last event with the most allocated bytes of the measured steps, and these bytes.

        The later, the fewer blocks are from before the history. The event is -1 where more stood
        before it.
        """
        if self.levels.is_empty():
            return -1, self.before
        row = self.levels.sort("allocated_bytes", "index", descending=True)
        at, level = (int(value) for value in row.select("index", "allocated_bytes").row(0))
        return (-1, self.before) if self.late and self.before > level else (at, level)

    def live(self, at: int) -> pl.DataFrame:
        """Return the blocks that are live after an event."""
        freed = pl.col("freed")
        return self.blocks.filter(pl.col("index") <= at, freed.is_null() | (freed > at))

    def by_site(self, blocks: pl.DataFrame) -> pl.DataFrame:
        """Return site, bytes and blocks of each line, the one with most bytes first."""
        sums = blocks.group_by("site").agg(pl.col("bytes").sum(), pl.len().alias("blocks"))
        return sums.sort("bytes", "site", descending=[True, False])

    @cached_property
    def growth(self) -> Growth | None:
        """Return the blocks left evenly in the measured steps, None where they do not matter."""
        steps = Steps(self.blocks, self.levels, self.first, self.last, self.by_phase)
        return growth(steps, thresholds.MATTERS * self.peak)

    @property
    def grows(self) -> bool:
        """Whether so much is left evenly that the snapshot shows no steady state."""
        known = self.growth
        return known is not None and self.part(known.total) >= memory_thresholds.GROWTH

    @property
    def in_graphs(self) -> int:
        """Return the free bytes of graphs' pools as the steps end: nothing else can use them."""
        graphs = self.pools.filter(pl.col("pool").str.starts_with(GRAPH_POOL))
        return int((graphs["reserved_bytes"] - graphs["allocated_bytes"]).sum())

    @property
    def unused(self) -> int:
        """Return the bytes of whole segments that the measured steps never needed.

        What graphs' pools hold is not among them: replays use it unseen. Of a history that begins
        late, bytes in used segments are: why they were reserved is not in it.
        """
        unused = max(self.peak - self.top[1] - self.in_graphs, 0)
        return unused if self.late else min(unused, self.cached)

    @property
    def room(self) -> int | None:
        """Return the bytes that the device has beyond those reserved at the end, None if unknown.

        At most: what other processes and the driver hold is not known.
        """
        if self.capacity is None or self.levels.is_empty():
            return None
        return max(self.capacity - int(self.levels["reserved_bytes"][-1]), 0)

    def part(self, size: float) -> float:
        """Return bytes as a fraction of the peak of reserved bytes."""
        return size / self.peak if self.peak else 0.0

    def size(self, metric: str, size: float, threshold: float | None = None) -> Evidence:
        """Return evidence in bytes."""
        return Evidence(metric, float(size), threshold, self.source, "B")

    def number(self, metric: str, value: float, threshold: float | None = None) -> Evidence:
        """Return evidence that is a count."""
        return Evidence(metric, value, threshold, self.source)


def views(captures: Sequence[Capture]) -> Sequence[MemoryView]:
    """Return one view a snapshot."""
    devices = [each.tables["devices"] for each in captures if "devices" in each.tables]
    sizes = [size for rows in devices for size in rows["memory_bytes"].drop_nulls()]
    capacity = max(sizes, default=None)
    return [_view(each, capacity) for each in captures if each.tables["memory_pools"].height]


def _view(capture: Capture, capacity: int | None) -> MemoryView:
    tables = capture.tables
    timeline = tables["memory_timeline"].with_columns(pl.col("phase").cast(pl.String)).sort("index")
    levels = memory.measured(timeline)
    first, last = (levels["index"][0], levels["index"][-1]) if levels.height else (0, -1)
    until = timeline.filter(pl.col("index") <= last)
    before = memory.start(tables)
    by_phase = levels.height < timeline.height
    most = 0 if by_phase else before["reserved_bytes"]
    stood = (pl.col("index") <= last) & (pl.col("freed").is_null() | (pl.col("freed") > first))
    segments = tables["memory_segments"].with_columns(pl.col("pool").cast(pl.String))
    return MemoryView(
        source=capture.label,
        levels=levels,
        first=first,
        last=last,
        peak=max(int(levels["reserved_bytes"].max() or 0), most),  # type: ignore[arg-type]  # integers
        held=max(int(until["allocated_bytes"].max() or 0), before["allocated_bytes"]),  # type: ignore[arg-type]  # integers
        before=before["allocated_bytes"],
        blocks=_blocks(tables["memory_blocks"], last),
        segments=segments.filter(stood).sort("index"),
        pools=_pools(tables, first, last),
        phases=_phases(tables, timeline, last),
        cached=_cached(tables, levels),
        failed=tables["memory_failed"].filter(pl.col("index") <= last),
        free=tables["memory_free"],
        by_phase=by_phase,
        capacity=capacity,
    )


def _blocks(blocks: pl.DataFrame, last: int) -> pl.DataFrame:
    outlived = pl.when(pl.col("freed") <= last).then("freed")
    texts = pl.col("pool", "site", "role").cast(pl.String)
    return blocks.filter(pl.col("index") <= last).with_columns(texts, freed=outlived).sort("index")


def _pools(tables: Tables, first: int, last: int) -> pl.DataFrame:
    """Return pool, events in the measured steps, its last event, and its bytes as they end."""
    named = pl.col("pool").cast(pl.String)
    rows = tables["memory_by_pool"].with_columns(named).filter(pl.col("index") <= last)
    levels = pl.col("reserved_bytes", "allocated_bytes").last()
    grouped = rows.sort("index").group_by("pool", maintain_order=True)
    events = (pl.col("index") >= first).sum().alias("events")
    counted = grouped.agg(events, pl.col("index").last().alias("last"), levels)
    return counted.filter(pl.col("pool") != FREED_POOL)


def _phases(tables: Tables, timeline: pl.DataFrame, last: int) -> pl.DataFrame:
    """Return phase, pool and events of each pool in each phase until the measured steps end."""
    phases = timeline.select("index", "phase").drop_nulls()
    named = pl.col("pool").cast(pl.String)
    rows = tables["memory_by_pool"].with_columns(named).filter(pl.col("index") <= last)
    joined = rows.join(phases, on="index")
    return joined.group_by("phase", "pool", maintain_order=True).agg(
        pl.len().alias("events"),
        pl.col("index").min().alias("first"),
        pl.col("index").max().alias("last"),
    )


def _cached(tables: Tables, levels: pl.DataFrame) -> int:
    """Return the free segments outside graphs' pools as the measured steps, or all, ended."""
    ended = tables["memory_marks"].filter(pl.col("phase").is_in(levels["phase"].tail(1).implode()))
    marked = tables["memory_mark_parts"].filter(pl.col("index").is_in(ended["index"].implode()))
    rows = (marked if marked.height else tables["memory_parts"]).filter(
        pl.col("part") == FREE_SEGMENTS, ~pl.col("pool").str.starts_with(GRAPH_POOL)
    )
    return int(rows["bytes"].sum())
