"""Devices compute one after another: each holds a part of the model and waits for the one before.

It shows where several devices of one capture exchange data, by copies between them or by send and
receive, and hardly ever compute at the same time (IN_TURN): while one does, the others' work is
queued, or receives. Ranks that wait in collectives compute side by side before: straggler,
expert-imbalance. Pipelines that divide their batches overlap, and what bubbles they have left is
not named; nor is a wait of the host's between two turns, which is host-sync. The gain is what goes
if all devices compute side by side, for as long as the one with the most work.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = FindingKind(
    "pipeline-bubble",
    "multi-GPU",
    "GPUs compute in turn, each waiting for the one before it.",
    fix=(
        "divide the batch into micro-batches, several for each stage, and interleave them",
        "keep several requests in flight, so that each stage has one",
        "split layers across the GPUs (tensor parallelism) instead of dealing them out",
    ),
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time in which devices waited for their turn."""
    bubbles = view.ranks.bubbles
    if bubbles is None:
        return
    share = view.fraction(bubbles.idle_ns + bubbles.communication_ns)
    saved = (bubbles.active_ns - bubbles.longest_ns) / (view.span_ns / len(view.tracks))
    evidence = (
        view.percent("time waited for another GPU's turn", share, thresholds.MATTERS),
        view.percent("computed beside another GPU", bubbles.beside, thresholds.IN_TURN),
        view.number("transfers between GPUs", bubbles.exchanges, "", thresholds.REPEATED),
    )
    yield KIND.finding(view.where, evidence, share=share, gain=min(saved, share), confidence=0.85)
