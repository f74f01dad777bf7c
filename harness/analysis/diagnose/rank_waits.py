"""Ranks that wait for each other in collectives, from the tracks of a timeline view."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis import communication, intervals
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.idle import causes as idle_causes
from harness.evidence.tables import SCHEMAS


@dataclass(frozen=True)
class Waits:
    """How long ranks waited in collectives and computed nothing; which track was last most often.

    ``usual_ns`` is the part of ``total_ns`` that the others waited for that track, each time as
    long as in the middle collective, and as far as their waits lie outside of compute: a wait
    beside compute costs nothing. ``last_share`` is the fraction of collectives in which it was
    last, ``limit`` what chance does not reach. ``host_is_late``: that track was idle for its host
    as long as the others waited, and no rank's host is faster: one thread launches for all of them,
    or each host works as long as that one.
    """

    total_ns: int
    usual_ns: int
    last: int
    last_share: float
    limit: float
    host_is_late: bool


def collectives(tracks: Sequence[Track]) -> pl.DataFrame | None:
    """Return the collectives of all tracks; None of a single one, or where there are none."""
    if len(tracks) < 2:
        return None
    columns = list(SCHEMAS["gpu_ops"])
    found = communication.collectives([track.ops.select(columns) for track in tracks])
    return None if found.is_empty() else found


def exposed_ns(tracks: Sequence[Track], collectives: pl.DataFrame, numbers: Sequence[int]) -> int:
    """Return how long ranks waited in these collectives and computed nothing."""
    counted = collectives.filter(pl.col("number").is_in(list(numbers)))
    total = 0
    for rank, track in enumerate(tracks):
        exposed = _outside_compute(counted.filter(pl.col("rank") == rank), track)
        total += min(exposed, track.communication_ns)
    return total


def waits(
    tracks: Sequence[Track], collectives: pl.DataFrame | None, besides: Sequence[int] = ()
) -> Waits | None:
    """Return the waits in collectives of all tracks but those numbered; None where none is left."""
    if collectives is None:
        return None
    counted = collectives.filter(~pl.col("number").is_in(list(besides)))
    if counted.is_empty():
        return None
    total = exposed_ns(tracks, counted, counted["number"].unique().to_list())
    last = counted.filter(pl.col("waited_ns") == pl.col("waited_ns").min().over("number"))
    counts = last.group_by("rank").len().sort("len", "rank", descending=[True, False])
    late, count = counts.row(0)
    number = counted["number"].n_unique()
    mine = last.filter(pl.col("rank") == late)
    others = counted.join(mine, on="number", how="semi").group_by("number")
    middle = others.agg(pl.col("waited_ns").sum())["waited_ns"].median()
    usual = min(int(middle * count * total / max(1, counted["waited_ns"].sum())), total)
    return Waits(
        total_ns=total,
        usual_ns=usual,
        last=int(late),
        last_share=count / number,
        limit=_beyond_chance(len(tracks), number),
        host_is_late=_same_host(tracks, tracks[late]) and _idle_for_host(tracks[late]) >= usual,
    )


def _outside_compute(collectives: pl.DataFrame, track: Track) -> int:
    """Return how long the track's rank waited in collectives while none of its kernels computed."""
    waits = collectives.select("start_ns", end_ns=pl.col("start_ns") + pl.col("waited_ns"))
    computed = track.ops.filter(pl.col("work") == communication.COMPUTE)
    return intervals.length(intervals.minus(waits, computed.select("start_ns", "end_ns")))


def _beyond_chance(ranks: int, collectives: int) -> float:
    """Return SAME_RANK, or two standard deviations over what each rank has by chance, at most 1."""
    chance = 1 / ranks
    deviation: float = (chance * (1 - chance) / collectives) ** 0.5
    return max(thresholds.SAME_RANK, min(chance + 2 * deviation, 1.0))


def _same_host(tracks: Sequence[Track], late: Track) -> bool:
    """Return whether no rank's host needs less time than the late one's, nor has one of its own."""
    threads = {(track.source, *track.idle["thread"].drop_nulls().mode().sort()) for track in tracks}
    least = min(track.host_ns for track in tracks)
    return len(threads) == 1 or least >= late.host_ns * (1 - thresholds.MATTERS)


def _idle_for_host(track: Track) -> int:
    return track.idle_ns(idle_causes.HOST) + track.idle_ns(idle_causes.LAUNCH)


def same_work(tracks: Sequence[Track]) -> bool:
    """Return whether all devices launched the same kernels with the same grids."""
    first, *others = (track.launched for track in tracks)
    return all(first.equals(other) for other in others)
