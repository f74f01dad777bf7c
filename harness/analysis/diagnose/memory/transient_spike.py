"""A few blocks that live briefly make the peak, and each is larger than anything that is kept.

What a program keeps (weights, states, inputs) sets the scale of its blocks. A temporary block that
is larger than each of them is an intermediate blown up at once: all logits, a dequantised weight,
a matrix of attention scores. Activations that many layers leave for the backward pass are many
blocks of one size: so at most FEW_BLOCKS, larger than all others, have to make MOST_OF_SPIKE of
what is temporary at the peak. The finding is of the line that adds most to it. Without
them, and without blocks of the same size (the gradient of logits is as large as they), the peak
falls by the gain.

An optimizer that goes by lists of tensors (foreach, torch's default on a GPU) makes temporaries as
large as all parameters together, though none is larger than a weight. They are the finding where
the peak would fall without them: then no activations, but the update makes it.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import memory_thresholds, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView
from harness.analysis.hint import for_eager
from harness.evidence.capture import NO_STACK
from harness.evidence.roles import OPTIMIZER

KIND = FindingKind(
    "transient-spike",
    "memory",
    "A few short-lived blocks make the peak; before and after them far less is in use.",
    fix=(
        "compute in chunks, so that only a part exists at once",
        "fuse the operations between which the intermediate stands ("
        + for_eager("torch.compile, ")
        + "a fused kernel)",
        "compute in place, or in the precision of the result",
    ),
)
OF_UPDATE = FindingKind(
    KIND.id,
    "memory",
    "The optimizer's temporaries make the peak; before and after it far less is in use.",
    fix=(
        "update in one kernel, which makes no temporaries: fused=True (Adam, AdamW, SGD, Adagrad)",
        "or one tensor at a time: foreach=False",
        "update each weight as its gradient is made, and free it"
        " (Tensor.register_post_accumulate_grad_hook)",
        "keep states in fewer bits",
    ),
)


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the temporaries of an optimizer at the peak, or else the few blocks that make it."""
    if not view.recorded or view.blocks.is_empty():
        return
    of_update = list(_of_update(view))
    yield from of_update or _few(view)


def _brief(view: MemoryView) -> pl.Expr:
    return pl.col("freed").is_not_null() & (pl.col("index") >= view.first)


def _of_update(view: MemoryView) -> Iterator[Finding]:
    at, level = view.top
    made = view.blocks.filter(_brief(view), pl.col("role") == OPTIMIZER)
    then = view.by_site(view.live(at).join(made, on="index", how="semi"))
    gain = view.part(level - _without(view, made))
    if then.is_empty() or gain < thresholds.MATTERS:
        return
    size = int(then["bytes"].sum())
    evidence = (
        view.size("peak of allocated bytes", level),
        view.size("of it temporaries of the optimizer", size),
        view.size("highest level without them", _without(view, made)),
    )
    yield OF_UPDATE.finding(
        then["site"][0], evidence, share=view.part(size), gain=gain, confidence=0.9
    )


def _few(view: MemoryView) -> Iterator[Finding]:
    at, level = view.top
    brief = _brief(view)
    live = view.live(at)
    known = int(view.blocks.filter(pl.col("index") < 0)["bytes"].sum())
    kept = max(int(live.filter(~brief)["bytes"].max() or 0), view.before - known)  # type: ignore[arg-type]  # integers
    spike = live.filter(brief).sort("bytes", "index", descending=[True, False])
    usual = int(spike["bytes"][memory_thresholds.FEW_BLOCKS :].head(1).sum())
    large = spike.filter(pl.col("bytes") > max(kept, usual))
    made, largest = int(large["bytes"].sum()), int(large["bytes"].head(1).sum())
    of_spike = made / max(int(spike["bytes"].sum()), 1)
    if of_spike < memory_thresholds.MOST_OF_SPIKE or view.part(made) < memory_thresholds.SPIKE:
        return
    alike = view.blocks.filter(brief).join(large, on="bytes", how="semi")
    gain = view.part(level - _without(view, alike))
    if gain < thresholds.MATTERS:
        return
    evidence = (
        view.size("peak of allocated bytes", level),
        view.size("short-lived bytes in it", int(spike["bytes"].sum())),
        view.size(f"of them in the {large.height} largest blocks", made),
        view.size("largest of these blocks, against the largest that is kept", largest, kept),
    )
    lines = large.group_by("site").agg(pl.col("bytes").sum(), pl.col("index").min())
    unnamed = (
        pl.col("site") == NO_STACK
    )  # a backward pass's: the line whose gradient it is says more
    where = lines.sort(unnamed, -pl.col("bytes"), "index")["site"][0]
    yield KIND.finding(where, evidence, share=view.part(made), gain=gain, confidence=0.9)


def _without(view: MemoryView, blocks: pl.DataFrame) -> int:
    """Return the highest level of the measured steps without some short-lived blocks of them."""
    changes = pl.concat(
        [
            blocks.select("index", change="bytes"),
            blocks.select(pl.col("freed").alias("index"), change=-pl.col("bytes")),
        ]
    )
    summed = changes.group_by("index").agg(pl.col("change").sum())
    rows = view.levels.join(summed, on="index", how="left", maintain_order="left")
    level = pl.col("allocated_bytes") - pl.col("change").fill_null(0).cum_sum()
    return int(rows.select(level.max()).item())
