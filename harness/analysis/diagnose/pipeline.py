"""Devices that compute in turn and hand their results on, from the tracks of a timeline view."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis import communication, intervals
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.idle import causes as idle_causes


@dataclass(frozen=True)
class Bubbles:
    """How long devices waited while another one computed, in ns.

    ``idle_ns`` and ``communication_ns`` are sums over devices: work was queued and waited, or the
    device only communicated. ``active_ns`` is the time in which any device computed, ``longest_ns``
    the time of the one that computed for longest, ``beside`` the part of the shortest one's time
    that was beside another's. ``exchanges``: transfers from one device to another.
    """

    idle_ns: int
    communication_ns: int
    active_ns: int
    longest_ns: int
    beside: float
    exchanges: int


def bubbles(tracks: Sequence[Track]) -> Bubbles | None:
    """Return how long devices waited for their turn; None where they do not compute in turn.

    Only of devices of one capture: the clocks of several need not agree.
    """
    if len(tracks) < 2 or len({track.source for track in tracks}) > 1:
        return None
    computed = [intervals.union(_working(track, communication.COMPUTE)) for track in tracks]
    lengths = [intervals.length(each) for each in computed]
    active = intervals.length(intervals.union(pl.concat(computed)))
    beside = (sum(lengths) - active) / min(lengths) if min(lengths) else 1.0
    exchanges = sum(_exchanges(track) for track in tracks)
    repeated = max(thresholds.REPEATED, min(track.stretches.height for track in tracks))
    if beside > thresholds.IN_TURN or exchanges < repeated:
        return None
    idle, communicating = 0, 0
    for track, mine in zip(tracks, computed, strict=True):
        others = intervals.minus(pl.concat(computed), mine)
        queued = track.idle.filter(pl.col("cause") == idle_causes.QUEUED)
        sent = _working(track, communication.COMMUNICATE)
        idle += intervals.length(intervals.common(queued, others))
        communicating += intervals.length(intervals.common(sent, others))
    return Bubbles(idle, communicating, active, max(lengths), beside, exchanges)


def _working(track: Track, work: str) -> pl.DataFrame:
    return track.ops.filter(pl.col("work") == work).select("start_ns", "end_ns")


def _exchanges(track: Track) -> int:
    """Return the number of a device's copies to another one, and of its sends and receives."""
    rows = track.ops.filter(pl.col("work") == communication.COMMUNICATE)
    names = rows.filter(pl.col("kind") == "kernel")["name"].unique()
    sends = [name for name in names if communication.exchanges(name)]
    copied = pl.col("kind") == "copy"
    return rows.filter(copied | pl.col("name").is_in(sends)).height
