"""Memory of the driver's is reserved and freed again and again while the program runs.

cudaFree waits for the device, and both take from 10 µs to milliseconds. It shows as idle time in
these calls, or after them. Reservations without frees are growth, which ends: so as many as
REPEATED of both are asked for. The stream-ordered cudaMallocAsync has a pool and does not count.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_nvidia, for_torch
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_calls

KIND = FindingKind(
    "allocator-churn",
    "timeline",
    "The GPU waits while memory is reserved from and freed to the driver.",
    fix=(
        "allocate once, before the loop, or from a pool ("
        + for_torch("torch's allocator, ")
        + "cudaMallocAsync)",
        for_torch("do not call torch.cuda.empty_cache() in the loop"),
        for_nvidia(for_torch("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where sizes vary")),
    ),
)
_FREES = r"Free|Unregister|Unmap|Release"


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the idle time in calls that reserve or free, and after them."""
    share = view.idle(idle_causes.ALLOCATE)
    calls = view.called(host_calls.ALLOCATE)
    frees = calls.filter(pl.col("name").cast(pl.String).str.contains(_FREES)).height
    reserved = calls.height - frees
    if not view.repeats(idle_causes.ALLOCATE) or min(frees, reserved) < thresholds.REPEATED:
        return
    evidence = (
        view.percent("idle in calls that reserve or free", share, thresholds.MATTERS),
        view.number("calls that reserve", reserved, "", thresholds.REPEATED),
        view.number("calls that free", frees, "", thresholds.REPEATED),
    )
    yield KIND.finding(view.where, evidence, share=share, gain=share, confidence=0.95)
