"""Blocks that no tensor holds any more wait at the peak until another stream has passed them.

A block that a second stream uses (Tensor.record_stream) is free only once that stream's event has
passed (torch.Tensor.record_stream, "Note"). The host queues work long before the GPU does it: so a
loop that assembles a layer's weights on a side stream drops them all before the first is used, and
each takes new memory. Two buffers that are used in turn would do: one that is read, one that is
filled. So all but two of the largest of what waits is the gain.

Who frees a block that one stream alone uses finds it free with the next event of the history; such
a block does not wait.

Where to look: In the snapshot's history free_requested and free_completed of a block lie far apart.
Their stacks are of the line that prepares data on a side stream.

Neighbours: leak has blocks that are never freed. fragmentation has free bytes, in pieces; here they
are not free yet. dead-pool holds free blocks in a graph's pool.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView
from harness.analysis.units import counted

KIND = FindingKind(
    "deferred-free",
    "memory",
    "Freed blocks wait for another stream, and new ones are reserved meanwhile.",
    fix=(
        "limit how far the host runs ahead: before the next block is filled, wait for the event"
        " after the last use of an earlier one (FSDP: limit_all_gathers=True)",
        "reuse two fixed buffers, guarded by events, in place of record_stream",
        "keep the tensor until the other stream has passed it: then it is free at once",
    ),
)
_BUFFERS = 2


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield what waits at the peak of the measured steps, of the line that has most of it."""
    at, level = view.top
    waits = pl.col("freed").is_null() | (pl.col("freed") > pl.col("released") + 1)
    waiting = view.live(at).filter(pl.col("released") <= at, waits)
    held = int(waiting["bytes"].sum())
    largest = int(waiting["bytes"].max() or 0)  # type: ignore[arg-type]  # integers
    gain = view.part(max(held - _BUFFERS * largest, 0))
    if gain < thresholds.MATTERS:
        return
    evidence = (
        view.size(f"freed but waiting at the peak, in {counted(waiting.height, 'block')}", held),
        view.size("peak of allocated bytes", level),
        view.size("largest of these blocks", largest),
    )
    where = view.by_site(waiting)["site"][0]
    yield KIND.finding(where, evidence, share=view.part(held), gain=gain, confidence=0.9)
