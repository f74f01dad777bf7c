"""Blocks of one line are never freed, again and again, while the rest of each step is.

What a program sets up it allocates once, in a burst: weights, states of an optimizer, caches. A
leak goes on: blocks of one line (and size, unless lengths change) are left in each quarter of the
measured steps, about as many in each, between other blocks that come and go. Without phases a
history that is nothing but setting up, or one forward pass, could look so, too: memory_growth.py
says what tells them apart. What the same lines left before the measured steps is lost, too, and
counts to the gain, where size tells it from what they set up.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.memory_growth import QUARTERS, Growth
from harness.analysis.diagnose.memory_steps import per_step
from harness.analysis.diagnose.memory_view import MemoryView

KIND = FindingKind(
    "leak",
    "memory",
    "Each step leaves blocks that are never freed.",
    fix=(
        "keep numbers, not tensors: loss.item(), or loss.detach() where the tensor is needed",
        "clear lists, caches and hooks that hold tensors",
        "do not keep a graph that no backward pass needs (retain_graph, create_graph)",
    ),
)
NEXT = "record more steps, to see whether the growth ends"


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the bytes that leaking lines left, together."""
    grown = view.growth
    if grown is None or not grown.confidence:
        return
    lines = grown.kinds.group_by("site").agg(pl.col("total", "count").sum())
    worst = lines.sort("total", "site", descending=[True, False])
    left_in_all = _left_in_all(view, grown)
    evidence = (
        *_rate(view),
        view.size("left by the measured steps", grown.total),
        view.size("left by these lines in all", left_in_all),
        view.number("blocks left", int(grown.kinds["count"].sum())),
        view.size("of one line", worst["total"][0]),
        view.number("blocks of that line", worst["count"][0], QUARTERS),
    )
    share = view.part(left_in_all)
    yield KIND.finding(
        worst["site"][0],
        evidence,
        share=share,
        gain=share,
        confidence=grown.confidence,
        capture_next=(NEXT,),
    )


def _rate(view: MemoryView) -> Iterator[Evidence]:
    """Yield what a repeat leaves, and how many more the device bears, where these are told."""
    rate = per_step(view)
    if rate is None:
        return
    yield view.size(f"left by each of {rate.repeats:,} repeats of {rate.line}", rate.bytes)
    if rate.lasts is not None:
        yield view.number("further repeats until the device is full, at most", round(rate.lasts))


def _left_in_all(view: MemoryView, grown: Growth) -> int:
    """Return the bytes of such blocks that stand as the steps end, of earlier steps, too."""
    if "bytes" not in grown.keys:
        return grown.total
    left = view.blocks.filter(pl.col("freed").is_null())
    alike = left.join(grown.kinds.select(grown.keys), on=grown.keys, how="semi")
    return int(alike["bytes"].sum())
