"""CUDA graphs were traced as one unit each, so that nothing can be said of the kernels in them.

It shows as operations of kind graph. nsys records them so by default; the trace by node is slower
and shows each kernel. It costs no time: the finding says what is not known, and comes after any
cause whose gain is known.

What the trace by node costs was measured by recording one program both ways, a graph of 12 kernels
of 1 to 11 µs that is replayed 5 times on an H200 (tests/data/nsys, graph_level and graph_node;
medians): a replay took 47.6 instead of 45.7 µs, its launch 29 instead of 14 µs of the host.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis import intervals
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_nvidia

KIND = FindingKind(
    "graph-opaque",
    "timeline",
    "Most of the time is in CUDA graphs that were traced as one unit each.",
    fix=("record the graphs' kernels before anything is changed",),
)
_NEXT = for_nvidia(
    "nsys profile --cuda-graph-trace=node, over a few replays: each kernel, and the ranges that it"
    " was captured in if the capture is recorded, too; 12 short kernels took 4 % longer so",
    otherwise="rocprofv3 --kernel-trace, over a few replays: each kernel",
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time in graphs whose kernels the capture does not hold."""
    graphs = [track.ops.filter(pl.col("kind") == "graph") for track in view.tracks]
    share = view.fraction(sum(intervals.length(intervals.union(rows)) for rows in graphs))
    if share < thresholds.FULL_GRAPH:
        return
    evidence = (
        view.percent("time in graphs traced as one unit", share, thresholds.FULL_GRAPH),
        view.number("replays", sum(rows.height for rows in graphs)),
    )
    yield KIND.finding(view.where, evidence, share=share, confidence=1.0, capture_next=(_NEXT,))
