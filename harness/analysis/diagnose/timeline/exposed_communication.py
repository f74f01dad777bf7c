"""Collectives run while no kernel computes.

It shows as the time in which kernels of NCCL, RCCL or NVSHMEM, or copies between devices, run alone
on a device. A collective also lasts for as long as the last rank takes to arrive: where all ranks
are there, the wait for the last one is taken out, as it is the straggler's or the experts'; so is
the wait for a turn (pipeline-bubble). The gain is what
kernels can hide: not the last collective of a marked step, as all of them have ended; and while a
collective runs beside kernels, they lack the multiprocessors that its blocks take.
"""

import math
from collections.abc import Iterator

import polars as pl

from harness.analysis import communication
from harness.analysis.diagnose import longest_collectives, rank_waits, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.serialised_streams import blocks
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_training

KIND = FindingKind(
    "exposed-communication",
    "multi-GPU",
    "GPUs communicate while they compute nothing.",
    fix=(
        "start collectives earlier, beside kernels that do not need them ("
        + for_training("buckets, ")
        + "prefetch)",
        "send fewer bytes: a smaller type, fewer or larger messages",
        "split the model so that less has to be exchanged",
    ),
)
_NEXT = "capture all ranks: a collective's time holds the wait for the last rank, too"


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time in which devices only communicated, less the wait for the last rank."""
    waited = rank_waits.waits(view.tracks, view.ranks.collectives)
    exposed = sum(track.communication_ns for track in view.tracks)
    if not exposed:
        return
    others = waited.total_ns if waited else 0
    if view.ranks.bubbles:
        others = view.ranks.bubbles.communication_ns
    alone = max(exposed - others, 0)
    share = view.fraction(alone)
    evidence = (
        view.percent("time in communication alone", view.communication, thresholds.MATTERS),
        view.percent("of it, the wait for the last rank", 1 - alone / exposed)
        if waited
        else view.number("ranks recorded", len(view.tracks), "", 2),
        view.percent("time in which kernels compute", view.compute),
        *longest_collectives.longest(view, longest_collectives.ALONE - longest_collectives.WAITED),
    )
    compute = sum(track.compute_ns for track in view.tracks)
    hidden = sum(_hidden_ns(track, alone / exposed) for track in view.tracks)
    yield KIND.finding(
        view.where,
        evidence,
        share=share,
        gain=view.fraction(min(hidden, compute)),
        confidence=0.9 if waited else 0.6,
        capture_next=() if waited or view.all_ranks else (_NEXT,),
    )


def _hidden_ns(track: Track, part: float) -> float:
    """Return by how much a device's time falls if kernels hide that part of its communication."""
    rows = track.ops.filter(pl.col("work") == communication.COMMUNICATE)
    if rows.is_empty():
        return 0.0
    steps = track.stretches.height if track.steps.is_apart else 0
    last = steps * float(rows["duration_ns"].median())  # type: ignore[arg-type]  # integers
    taken = float(rows.select(blocks().median()).item() or 0) / (track.multiprocessors or math.inf)
    return max(track.communication_ns * part - last, 0.0) * max(1 - taken, 0.0)
