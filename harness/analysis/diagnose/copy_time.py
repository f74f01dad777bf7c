"""What copies from and to host memory that is not pageable cost a device."""

from dataclasses import dataclass

import polars as pl

from harness.analysis import copies, intervals
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.timeline_tracks import Track


@dataclass(frozen=True)
class CopyTime:
    """The time, in ns, in which a device ran only such copies (``alone_ns``), and its parts.

    Each direction has engines of its own, so at best kernels and both directions run side by side,
    between the first and the last kernel. ``hideable_ns`` goes then. ``excess_ns`` stays, as the
    fuller direction lasts longer than the kernels, and its copies are as fast as the link
    (``rate``, in bytes per second): 0 if they are slower. ``bytes`` and ``total_ns`` are those of
    all the copies.
    """

    alone_ns: int
    hideable_ns: int
    excess_ns: int
    rate: float
    bytes: int
    total_ns: int


def of(track: Track) -> CopyTime:
    """Return what a device's large copies of pinned and managed memory cost it."""
    rows = track.large_copies((copies.PINNED, copies.MANAGED))
    pageable = (copies.PAGEABLE,)
    alone = track.alone_ns(rows, besides=pageable)
    if not alone:
        return CopyTime(0, 0, 0, 0.0, 0, 0)
    within = track.alone_ns(rows, besides=pageable, within=True)
    longest, rate = _fuller_direction(track, rows)
    excess = min(max(longest - track.compute_ns - track.communication_ns, 0), within)
    full = rate >= thresholds.LINK_FULL * track.pinned_rate
    sums = rows.select(pl.col("bytes", "duration_ns").sum()).row(0)
    return CopyTime(alone, within - excess, excess if full else 0, rate, *map(int, sums))


def _fuller_direction(track: Track, rows: pl.DataFrame) -> tuple[int, float]:
    """Return how long the fuller direction's copies ran where kernels could, and their rate."""
    by_direction = rows.group_by("copy_kind")
    length, part = max(
        (
            (intervals.length(intervals.common(part, track.hideable)), part)
            for _, part in by_direction
        ),
        key=lambda pair: pair[0],
    )
    pinned = part.filter(pl.col("memory") == copies.PINNED)
    time = int(pinned["duration_ns"].sum())
    return length, int(pinned["bytes"].sum()) / time * 1e9 if time else 0.0
