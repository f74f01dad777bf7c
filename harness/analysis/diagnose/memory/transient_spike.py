"""A few blocks that live briefly make the peak, and each is larger than anything that is kept.

What a program keeps (weights, states, inputs) sets the scale of its blocks. A temporary block that
is larger than each of them is an intermediate blown up at once: all logits, a dequantised weight,
a matrix of attention scores. Activations that many layers leave for the backward pass are many
blocks: so FEW_BLOCKS of them have to make MOST_OF_SPIKE of what is temporary at the peak. The
finding is of the line that adds most to it. Removing
them, wherever the same lines make them, saves at most what the peak falls.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import memory_thresholds, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView

KIND = FindingKind(
    "transient-spike",
    "memory",
    "A few short-lived blocks make the peak; before and after them far less is in use.",
    fix=(
        "compute in chunks, so that only a part exists at once",
        "fuse the operations between which the intermediate stands (torch.compile, a fused kernel)",
        "compute in place, or in the precision of the result",
    ),
)


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the blocks at the peak of the measured steps."""
    if not view.recorded or view.blocks.is_empty():
        return
    at, level = view.top
    brief = pl.col("freed").is_not_null() & (pl.col("index") >= view.first)
    live = view.live(at)
    known = int(view.blocks.filter(pl.col("index") < 0)["bytes"].sum())
    kept = max(int(live.filter(~brief)["bytes"].max() or 0), view.before - known)  # type: ignore[arg-type]  # integers
    spike = live.filter(brief).sort("bytes", "index", descending=[True, False])
    large = spike.filter(pl.col("bytes") > kept).head(memory_thresholds.FEW_BLOCKS)
    made, largest = int(large["bytes"].sum()), int(large["bytes"].head(1).sum())
    if made < memory_thresholds.MOST_OF_SPIKE * int(spike["bytes"].sum()):
        return
    gain = view.part(level - _without(view, large))
    if gain < thresholds.MATTERS:
        return
    evidence = (
        view.size("peak of allocated bytes", level),
        view.size("short-lived bytes in it", int(spike["bytes"].sum())),
        view.size(f"of them in the {large.height} largest blocks", made),
        view.size("largest of these blocks, against the largest that is kept", largest, kept),
    )
    lines = large.group_by("site").agg(pl.col("bytes").sum(), pl.col("index").min())
    where = lines.sort("bytes", "index", descending=[True, False])["site"][0]
    yield KIND.finding(where, evidence, share=view.part(made), gain=gain, confidence=0.9)


def _without(view: MemoryView, large: pl.DataFrame) -> int:
    """Return the highest level of the measured steps without short-lived blocks such as these."""
    alike = view.blocks.filter(pl.col("index") >= view.first, pl.col("freed").is_not_null()).join(
        large, on=["site", "bytes"], how="semi"
    )
    changes = pl.concat(
        [
            alike.select("index", change="bytes"),
            alike.select(pl.col("freed").alias("index"), change=-pl.col("bytes")),
        ]
    )
    summed = changes.group_by("index").agg(pl.col("change").sum())
    rows = view.levels.join(summed, on="index", how="left", maintain_order="left")
    level = pl.col("allocated_bytes") - pl.col("change").fill_null(0).cum_sum()
    return int(rows.select(level.max()).item())
