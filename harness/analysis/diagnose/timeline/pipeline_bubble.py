"""Devices wait for one another's results: each holds a part of the model, a stage of a pipeline.

It shows where several devices of one capture exchange data, by copies between them or by send and
receive. Either they hardly ever compute at the same time (IN_TURN): while one does, the others'
work is queued, or receives. Or each divides its batch into micro-batches: at the beginning and the
end of a step one stage only sends what another one only receives, as the calls of NCCL say
(harness.analysis.collective_kinds). What a device waits in such transfers, and in those that send
and receive at once between two micro-batches, while another computes is the bubble. Ranks that
wait in collectives compute side by side before: straggler, expert-imbalance. A wait of the host's
between two turns is host-sync. Full stages with as much work each take the mean of the devices'
times, so all of the wait goes.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import longest_collectives, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.pipeline import TRANSFERS
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = FindingKind(
    "pipeline-bubble",
    "multi-GPU",
    "GPUs that hold parts of the model wait for one another's results.",
    fix=(
        "divide the batch into micro-batches, more for each stage, and interleave them",
        "keep several requests in flight, so that each stage has one",
        "give every stage as much work: layers, embedding, head and loss",
        "split layers across the GPUs (tensor parallelism) instead of dealing them out",
    ),
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time in which devices waited for another one's results."""
    bubbles = view.ranks.bubbles
    if bubbles is None:
        return
    share = view.fraction(bubbles.idle_ns + bubbles.communication_ns)
    evidence = (
        view.percent("time waited for another GPU's results", share, thresholds.MATTERS),
        view.percent("computed beside another GPU", bubbles.beside, thresholds.IN_TURN)
        if bubbles.in_turn
        else view.number("only sends, or only receives", bubbles.alone, "", thresholds.REPEATED),
        view.number("transfers between GPUs", bubbles.transfers, "", thresholds.REPEATED),
        *longest_collectives.longest(
            view, longest_collectives.ALONE, pl.col("made").is_in(TRANSFERS)
        ),
    )
    yield KIND.finding(view.where, evidence, share=share, gain=share, confidence=0.85)
