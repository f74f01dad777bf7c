"""Ranks that wait for each other in collectives, from the tracks of a timeline view."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis import communication
from harness.analysis.diagnose.timeline_tracks import Track
from harness.evidence.tables import SCHEMAS


@dataclass(frozen=True)
class Waits:
    """How long ranks waited in collectives, outside of compute; which track was last most often.

    ``last_share`` is the fraction of collectives in which that track was last.
    """

    total_ns: int
    last: int
    last_share: float


def waits(tracks: Sequence[Track]) -> Waits | None:
    """Return the waits in collectives of all tracks; None where there are no such."""
    columns = list(SCHEMAS["gpu_ops"])
    if len(tracks) < 2:
        return None
    found = communication.collectives([track.ops.select(columns) for track in tracks])
    if found.is_empty():
        return None
    total = 0
    for number, track in enumerate(tracks):
        waited = int(found.filter(pl.col("rank") == number)["waited_ns"].sum())
        total += min(waited, track.communication_ns)
    last = found.filter(pl.col("waited_ns") == pl.col("waited_ns").min().over("number"))
    counts = last.group_by("rank").len().sort("len", "rank", descending=[True, False])
    share = counts["len"][0] / found["number"].n_unique()
    return Waits(total, int(counts["rank"][0]), share)


def same_work(tracks: Sequence[Track]) -> bool:
    """Return whether all devices launched the same kernels with the same grids."""
    first, *others = (track.launched for track in tracks)
    return all(first.equals(other) for other in others)
