"""Blocks of one line are never freed, again and again, while the rest of each step is.

What a program sets up it allocates once, in a burst: weights, states of an optimizer, caches. A
leak goes on: blocks of one line and size are left in each QUARTER of the measured steps, about as
many in each, between other blocks that come and go. Without phases a history that is nothing but
setting up, or one forward pass, could look so, too: then as much has to be freed in each quarter as
is left. What the same lines left before the measured steps is lost, too, and counts to the gain.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from harness.analysis.diagnose import memory_thresholds, thresholds
from harness.analysis.diagnose.finding import Finding, Kind
from harness.analysis.diagnose.memory_view import MemoryView

KIND = Kind(
    "leak",
    "memory",
    "Each step leaves blocks that are never freed.",
    fix=(
        "keep numbers, not tensors: loss.item(), or loss.detach() where the tensor is needed",
        "clear lists, caches and hooks that hold tensors",
        "do not keep a graph that no backward pass needs (retain_graph, create_graph)",
    ),
)
_QUARTERS = 4
NEXT = "record more steps, to see whether the growth ends"


@dataclass(frozen=True)
class Growth:
    """Blocks left evenly in each quarter, by line and size, though as much is freed in each.

    ``confidence`` is that steps left them: 0 where it may be the layers of a single pass.
    """

    kinds: pl.DataFrame
    total: int
    confidence: float


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the bytes that leaking lines left, together."""
    grown = growth(view)
    if grown is None or not grown.confidence:
        return
    worst = grown.kinds.sort("total", "site", descending=[True, False])
    left_in_all = _left_in_all(view, grown.kinds)
    evidence = (
        view.size("left by the measured steps", grown.total),
        view.size("left by these lines in all", left_in_all),
        view.number("blocks left", int(grown.kinds["count"].sum())),
        view.size("of one line", worst["total"][0]),
        view.number("blocks of that line", worst["count"][0], _QUARTERS),
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


def growth(view: MemoryView) -> Growth | None:
    """Return the blocks left evenly in the measured steps, None if they are few."""
    length = (view.last - view.first + 1) / _QUARTERS
    if length < 1:
        return None
    rows = view.blocks.filter(pl.col("index") >= view.first).with_columns(
        quarter=((pl.col("index") - view.first) / length).cast(pl.Int64)
    )
    left = rows.filter(pl.col("freed").is_null())
    counts = left.group_by("site", "bytes", "quarter").agg(pl.len().alias("count"))
    kinds = counts.group_by("site", "bytes").agg(
        quarters=pl.len(),
        count=pl.col("count").sum(),
        least=pl.col("count").min(),
        most=pl.col("count").max(),
    )
    steady = kinds.filter(
        pl.col("quarters") == _QUARTERS,
        pl.col("most") <= pl.col("least") * memory_thresholds.EVEN,
    ).with_columns(total=pl.col("count") * pl.col("bytes"))
    total = int(steady["total"].sum())
    if view.part(total) < thresholds.MATTERS:
        return None
    leaking = left.join(steady, on=["site", "bytes"], how="semi")
    confidence = _confidence(view, rows, leaking, length)
    return None if confidence is None else Growth(steady, total, confidence)


def _left_in_all(view: MemoryView, steady: pl.DataFrame) -> int:
    """Return the bytes of such blocks that stand as the steps end, of earlier steps, too."""
    left = view.blocks.filter(pl.col("freed").is_null())
    return int(left.join(steady, on=["site", "bytes"], how="semi")["bytes"].sum())


def _confidence(
    view: MemoryView, rows: pl.DataFrame, left: pl.DataFrame, length: float
) -> float | None:
    """Return how sure it is that steps left the blocks, 0 where one pass may have.

    Phases that mark steps are the surest. Without them each quarter has to free as much as it
    leaves, else None: setting up frees nothing. Layers of one forward pass free temporaries. The
    allocated bytes fall within a quarter by as much at once, or again and again, each time by more
    blocks than one expression makes, and by twice the bytes left in between.
    """
    if view.by_phase:
        return 0.9
    freed = rows.filter(pl.col("freed").is_not_null())
    left_bytes = left.group_by("quarter").agg(pl.col("bytes").sum())
    freed_bytes = freed.group_by("quarter").agg(pl.col("bytes").sum(), pl.len().alias("blocks"))
    both = left_bytes.join(freed_bytes, on="quarter", how="left", suffix="_freed")
    if not (both["bytes_freed"].fill_null(0) >= both["bytes"]).all():
        return None
    levels = view.levels.with_columns(
        quarter=((pl.col("index") - view.first) / length).cast(pl.Int64)
    )
    falls = [
        (part, blocks, *_falls(levels.filter(pl.col("quarter") == quarter)["allocated_bytes"]))
        for quarter, part, blocks in both.select("quarter", "bytes", "blocks").iter_rows()
    ]
    if all(deepest >= part for part, _, deepest, _ in falls):
        return 0.7
    steps = all(
        count >= memory_thresholds.CYCLES
        and count * deepest >= 2 * part
        and blocks > count * memory_thresholds.FEW_BLOCKS
        for part, blocks, deepest, count in falls
    )
    return 0.6 if steps else 0.0


def _falls(levels: pl.Series) -> tuple[int, int]:
    """Return the deepest fall of a level below what it was before, and the falls half as deep."""
    deepest = int((levels.cum_max() - levels).max() or 0)  # type: ignore[arg-type]  # integers
    highest = count = 0
    for level in levels:
        highest = max(highest, level)
        if deepest and highest - level >= deepest / 2:
            count, highest = count + 1, level
    return deepest, count
