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
        "a slice or a view keeps all of its tensor: clone() what is kept of it",
        "break cycles of references (weakref), or let Python's garbage collector run (gc.collect)",
    ),
)
QUEUE = FindingKind(
    KIND.id,
    "memory",
    "Each step puts more blocks into a queue than it takes out.",
    fix=(
        "limit how many blocks wait: a queue with a maximal length, filled as fast as it is"
        " emptied",
        "keep what waits in the host's memory, and copy it to the GPU shortly before its use",
        "keep it in the type that it is stored in (uint8), and convert it where it is used",
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
    largest = _standing(view, grown).filter(pl.col("site") == worst["site"][0])["bytes"].max()
    evidence = (
        *_rate(view),
        view.size("left by the measured steps", grown.total),
        view.size("largest block that is left by this line", int(largest or 0)),  # type: ignore[arg-type]  # integers
        view.size("left by these lines in all", left_in_all),
        view.number("blocks left", int(grown.kinds["count"].sum())),
        view.size("of one line", worst["total"][0]),
        view.number("blocks of that line", worst["count"][0], QUARTERS),
    )
    share = view.part(left_in_all)
    kind = QUEUE if grown.queued else KIND
    yield kind.finding(
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
    return int(_standing(view, grown)["bytes"].sum())


def _standing(view: MemoryView, grown: Growth) -> pl.DataFrame:
    """Return the blocks such as those that grow, of any time, that stand as the steps end."""
    left = view.blocks.filter(pl.col("freed").is_null())
    return left.join(grown.kinds.select(grown.keys), on=grown.keys, how="semi")
