"""A forward pass keeps what only a backward pass needs, and no backward pass goes through it.

Autograd keeps the inputs of each operator until its graph is dropped, so a pass through many alike
layers leaves blocks of the same lines and sizes, once a layer. A backward pass frees them layer by
layer, between the gradients that it allocates. Where none goes through them, as in inference, or
in a teacher whose output is detached, they are all dropped together, with the output. A cache of
keys and values is kept alike, but is of one size, or two: it takes _LEAST_KINDS. In a program that
trains, a pass counts that was made and dropped _PASSES times or more, as a model is not, and beside
blocks that a backward pass frees one by one: a graph that is retained goes all at once.

Where to look: In torch's viewer (memory_viz) a staircase, a stair a layer, that falls all at once.
A training step's staircase goes down again stair by stair, with gradients in between.

Neighbours: leak does not fall at all. transient-spike is a few large blocks. In a step that trains,
activations are what the backward pass needs: then activation checkpointing is the question, and
this is no finding.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import memory_thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.memory_view import BACKWARD, MemoryView
from harness.evidence.roles import OPTIMIZER

KIND = FindingKind(
    "kept-activations",
    "memory",
    "A forward pass keeps what a backward pass needs, and none goes through it.",
    fix=(
        "run inference, and a teacher, a frozen encoder or a metric within training, under "
        "torch.inference_mode(), or torch.no_grad()",
        "where only a part is trained, freeze the rest (requires_grad_(False)), detach its output",
    ),
)
_LAYERS = 6
"""Blocks of one line and size that are left once a layer."""
_LEAST_KINDS = 3
"""Lines and sizes: a layer keeps inputs of its norms, its products and its nonlinearity."""
_PASSES = 2
_KEY = ["site", "bytes"]


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the blocks of many layers that stand at the peak and are freed together after it."""
    made = view.blocks.filter(pl.col("index") >= view.first)
    trains = made.filter(BACKWARD | (pl.col("role") == OPTIMIZER))
    if not view.recorded:
        return
    at, level = view.top
    freed = _freed(made, view.live(at).filter(pl.col("index") >= view.first))
    kept = _together(freed)
    counts = kept.group_by(_KEY).len("count").filter(pl.col("count") >= _LAYERS)
    if trains.height:
        if freed["after"].n_unique() <= _LAYERS:
            return
        dropped = made.drop_nulls("freed").group_by(_KEY).len("dropped")
        again = pl.col("dropped") >= _PASSES * pl.col("count")
        counts = counts.join(dropped, on=_KEY).filter(again)
    of_layers = kept.join(counts, on=_KEY, how="semi")
    size = int(of_layers["bytes"].sum())
    if counts.height < _LEAST_KINDS or view.part(size) < memory_thresholds.SPIKE:
        return
    layers = int(counts["count"].median() or 1)  # type: ignore[arg-type]  # counts
    evidence = (
        view.size("peak of allocated bytes", level),
        view.size("of it left by layer after layer, and freed together", size),
        view.number("lines and sizes that each layer leaves", counts.height, _LEAST_KINDS),
        view.number("blocks of a line and size, in the median", layers, _LAYERS),
        view.number("blocks of backward passes", trains.height),
    )
    share = view.part(size)
    gain = share * (1 - 1 / layers)
    where = view.by_site(of_layers)["site"][0]
    yield KIND.finding(where, evidence, share=share, gain=gain, confidence=0.9)


def _freed(made: pl.DataFrame, live: pl.DataFrame) -> pl.DataFrame:
    """Return those of some blocks that are freed, each with the allocations made until then."""
    freed = live.drop_nulls("freed")
    return freed.with_columns(after=made["index"].sort().search_sorted(freed["freed"]))


def _together(freed: pl.DataFrame) -> pl.DataFrame:
    """Return those that are freed with no allocation in between: the most bytes."""
    if freed.is_empty():
        return freed
    sums = freed.group_by("after").agg(pl.col("bytes").sum()).sort("bytes", "after")
    return freed.filter(pl.col("after") == sums["after"][-1])
