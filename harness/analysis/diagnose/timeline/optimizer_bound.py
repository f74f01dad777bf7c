"""The optimiser's update takes longer than all that computes the gradients.

An update reads and writes every parameter and its moments, however few of them a batch used, and
however small the batch is. It shows as kernels of torch's or Apex's optimisers that run for more
than half of the device's busy time, beside others that compute. Where the batch is large, 6 FLOP a
parameter and token outlast the 28 bytes a parameter of Adam in fp32 (torch.optim.AdamW, fused: it
reads the gradient, and reads and writes the parameter and two moments).
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import thresholds, timeline_evidence
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_torch, for_training

KIND = FindingKind(
    "optimizer-bound",
    "timeline",
    "The optimiser's update of all parameters takes longer than what computes their gradients.",
    fix=(
        for_training(
            "let embedding tables have sparse gradients and an optimiser that updates only used "
            "rows" + for_torch(" (sparse=True, torch.optim.SparseAdam)")
        ),
        for_training("update once in several batches, or by larger ones: accumulate gradients"),
        "update in one pass over the parameters" + for_torch(" (fused=True of torch.optim)"),
    ),
)
_UPDATES = r"multi_tensor_apply|FusedAdam|fused_adam"
"""torch's foreach and fused optimisers (aten/src/ATen/native/cuda/MultiTensorApply.cuh) and Apex's;
clipping and scaling gradients run by the same, and are part of an update."""
_MOVES = r"elementwise_kernel"
"""torch's kernels that fill and copy, among others: alone they compute no gradient."""


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time of updates, where it is most of the busy time and gradients are computed."""
    share = timeline_evidence.running(view, pl.col("name").str.contains(_UPDATES))
    rest = view.compute - share
    if share <= rest:
        return
    computing = ~pl.col("name").str.contains(f"{_UPDATES}|{_MOVES}") & (pl.col("kind") == "kernel")
    if timeline_evidence.running(view, computing) < thresholds.SEEN:
        return
    evidence = (
        view.percent("time in which the optimiser's kernels run", share, rest),
        view.percent("time in which other kernels run", rest),
    )
    yield KIND.finding(view.where, evidence, share=share, gain=share, confidence=0.8)
