"""Segments are reserved although others have enough free bytes, in pieces between live blocks.

A block needs one piece of one segment. The allocator reserves a segment only if no free piece is
large enough: so where the partly used segments of the pool have as many free bytes in sum as the
new segment, they are in pieces (torch.cuda.memory, "Memory management"). Blocks of at most 1 MiB
have segments of SMALL_SEGMENT to themselves and do not count. At most the reserved bytes beyond the
most that was ever allocated can be saved.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import memory_thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView

KIND = FindingKind(
    "fragmentation",
    "memory",
    "Memory is reserved although enough is free: the free bytes are in pieces.",
    fix=(
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "allocate what is kept before what is dropped",
        "allocate large buffers first, or keep and reuse them",
    ),
)


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the segments that stand in the measured steps and that free bytes could have been."""
    rows = view.segments.filter(
        pl.col("bytes") > memory_thresholds.SMALL_SEGMENT, pl.col("free_bytes") >= pl.col("bytes")
    )
    if rows.is_empty():
        return
    free = int(rows["free_bytes"].max())  # type: ignore[arg-type]  # integers
    wasted = min(int(rows["bytes"].sum()), free, view.peak - view.held)
    if view.part(wasted) < memory_thresholds.FRAGMENTED:
        return
    evidence = (
        view.size("free in partly used segments when another was reserved", free),
        view.size("reserved beyond the most ever allocated", view.peak - view.held),
        view.number("segments reserved although enough was free", rows.height),
    )
    share = view.part(wasted)
    yield KIND.finding("the caching allocator", evidence, share=share, gain=share, confidence=0.9)
