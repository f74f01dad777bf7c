"""Devices that hand their results on and wait for one another's, from the tracks of a view."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from harness.analysis import communication, intervals
from harness.analysis.collective_kinds import ALL_TO_ALL, BOTH, EITHER, PEER_COPY, RECEIVE, SEND
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.idle import causes as idle_causes

TRANSFERS = (PEER_COPY, SEND, RECEIVE, BOTH, EITHER)


@dataclass(frozen=True)
class Bubbles:
    """How long devices waited while another one computed, in ns.

    ``idle_ns`` and ``communication_ns`` are sums over devices: work was queued and waited, or the
    device did nothing but transfer. ``beside``: the part of the time of the device that computes
    least which was beside another's. ``transfers``: from one device to another; ``alone``: those
    that only send, or only receive. ``in_turn``: the devices hardly ever compute together; else the
    stages of a pipeline have several micro-batches.
    """

    idle_ns: int
    communication_ns: int
    beside: float
    transfers: int
    alone: int
    in_turn: bool


def bubbles(tracks: Sequence[Track], communicating: Sequence[pl.DataFrame]) -> Bubbles | None:
    """Return how long devices waited for another's results; None where they are no pipeline.

    ``tracks``: several devices of one capture; ``communicating``: what collective_kinds says of
    each.
    """
    transfers = [_transfers(rows) for rows in communicating]
    computed = [intervals.union(_computing(track)) for track in tracks]
    lengths = [intervals.length(each) for each in computed]
    active = intervals.length(intervals.union(pl.concat(computed)))
    beside = (sum(lengths) - active) / min(lengths) if min(lengths) else 1.0
    count = sum(rows.height for rows in transfers)
    repeated = max(thresholds.REPEATED, min(track.stretches.height for track in tracks))
    in_turn = beside <= thresholds.IN_TURN and count >= repeated
    made = pl.concat([rows["made"] for rows in transfers])
    alone = [int((made == each).sum()) for each in (SEND, RECEIVE)]
    if not in_turn and min(alone) < repeated:
        return None
    idle, communicated = 0, 0
    for track, mine, sent in zip(tracks, computed, transfers, strict=True):
        others = intervals.minus(pl.concat(computed), mine)
        queued = track.idle.filter(pl.col("cause") == idle_causes.QUEUED)
        idle += intervals.length(intervals.common(queued, others))
        communicated += intervals.length(intervals.common(sent, others))
    return Bubbles(idle, communicated, beside, count, sum(alone), in_turn)


def _transfers(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the copies to other devices, and the sends and receives from rank to rank.

    Where a stream runs all-to-alls, a rank that gets no tokens only sends: no stage of a pipeline.
    """
    exchanged = (pl.col("made") == ALL_TO_ALL).any().over("stream")
    return rows.filter(pl.col("made").is_in(TRANSFERS) & ~exchanged)


def _computing(track: Track) -> pl.DataFrame:
    computed = track.ops.filter(pl.col("work") == communication.COMPUTE)
    return computed.select("start_ns", "end_ns")
