"""Gradients stay for all steps, of weights that no optimizer updates: they are not frozen.

A backward pass makes a gradient for each weight that requires one, whoever updates it. The
optimizer clears only those of its own weights; the others stay, as large as the weights, and each
step adds to them. A state of an optimizer is as large as its weight: so a gradient that is kept and
is the size of no state, but of a weight, is of one that is not updated.

What tells nothing: an optimizer without states (plain SGD); and one whose states are of other
sizes than its gradients (Adafactor), which is told by its largest state having no gradient.

Where to look: In torch's viewer (memory_viz) the first backward pass leaves a plateau as large as
the frozen weights, of blocks without Python frames, which no later step frees.

Neighbours: leak adds blocks in each step. kept-activations falls with the output. Gradients of
weights that are trained stand as well, if zero_grad(set_to_none=False) keeps them: those have an
optimizer's states of their sizes.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.memory.kept_checkpoint import duplicates
from harness.analysis.diagnose.memory_view import BACKWARD, MemoryView
from harness.evidence.roles import OPTIMIZER

KIND = FindingKind(
    "unused-gradients",
    "memory",
    "Gradients are kept of weights that no optimizer updates: the weights are not frozen.",
    fix=(
        "freeze what is not trained, before the first forward pass: base.requires_grad_(False)",
        "clear the gradients of all weights: model.zero_grad(), not only the optimizer's own",
    ),
)
_WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Bytes of a state's element to those of its gradient's: 8-bit states of fp32 gradients, to fp32
states of 8-bit ones."""


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the gradients that were made in the first half of the steps and stand at their end."""
    kept = view.blocks.filter(pl.col("freed").is_null(), pl.col("index") >= 0)
    states = kept.filter(pl.col("role") == OPTIMIZER)
    made = view.blocks.filter(BACKWARD, pl.col("index") >= 0)
    largest = states["bytes"].max()
    if (
        view.late
        or largest is None
        or made.filter(_as_large(states.filter(bytes=largest))).is_empty()
    ):
        return
    begun = pl.col("index") <= (view.first + view.last) // 2
    unused = kept.filter(BACKWARD, begun, ~_as_large(states))
    weights = kept.filter(pl.col("role") != OPTIMIZER, begun)
    size = duplicates(unused, weights)
    if not size:
        return
    evidence = (
        view.size("gradients kept since the first half, of sizes that no state has", size),
        view.size("states of optimizers", int(states["bytes"].sum())),
        view.number("such gradients", unused.height),
    )
    of_them = weights.join(unused, on="bytes", how="semi")
    where, share = view.by_site(of_them)["site"][0], view.part(size)
    yield KIND.finding(where, evidence, share=share, gain=share, confidence=0.8)


def _as_large(states: pl.DataFrame) -> pl.Expr:
    """Return whether a block has the bytes of a gradient that one of these states is of."""
    sizes = {round(size / width) for size in states["bytes"].unique() for width in _WIDTHS}
    return pl.col("bytes").is_in(sorted(sizes))
