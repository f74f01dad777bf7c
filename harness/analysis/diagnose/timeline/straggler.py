"""One rank is late, and the others wait for it in collectives.

Where all ranks were recorded, the rank that stays in a collective for the shortest time arrived
last, and what the others stay longer they waited (harness.analysis.communication.collectives). A
rank that is last in SAME_RANK of the collectives, more often than chance has it, is slow;
otherwise another rank is last each time, which is jitter. It costs what the others usually wait: a
long wait now and then is jitter, too. Where one host thread launches for all ranks, and the late
one is idle for it as long as the others wait, all of them wait for the host. If the late rank
launches the same kernels as the others, it is slow at the same work, and all of the wait can go;
if not, it has more work, which spread evenly takes their mean. All-to-alls after uneven work are
expert-imbalance, and the stages of a pipeline pipeline-bubble.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import longest_collectives, rank_waits, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = FindingKind(
    "straggler",
    "multi-GPU",
    "GPUs wait in collectives for one that is late.",
    fix=(
        "give every rank the same work: sequence lengths, layers, experts",
        "look at the late rank alone: its host, clock, neighbours and data",
    ),
)
_NEXT = "diagnose the late rank's capture by itself"


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time in which ranks waited for the rank that is last most often."""
    besides = view.ranks.uneven.numbers if view.ranks.uneven else ()
    waits = rank_waits.waits(view.tracks, view.ranks.collectives, besides)
    if view.ranks.bubbles or waits is None or waits.last_share < waits.limit or waits.host_is_late:
        return
    late = view.tracks[waits.last]
    others = len(view.tracks) - 1
    share = view.fraction(waits.usual_ns)
    evidence = (
        view.percent("time waited for the last rank", share, thresholds.MATTERS),
        view.percent("collectives in which it is last", waits.last_share, waits.limit),
        view.percent("it computes for", late.compute_ns / late.span_ns),
        *longest_collectives.longest(
            view, longest_collectives.WAITED, ~pl.col("number").is_in(besides)
        ),
    )
    where = late.where if len({t.source for t in view.tracks}) == 1 else late.source
    share_of_wait = 1 / others if rank_waits.same_work(view.tracks) else 1 / len(view.tracks)
    gain = waits.usual_ns * share_of_wait / (view.span_ns / len(view.tracks))
    yield KIND.finding(
        where, evidence, share=share, gain=gain, confidence=0.85, capture_next=(_NEXT,)
    )
