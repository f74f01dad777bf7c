"""Blocks of one line are never freed, again and again, while the rest of each step is.

What a program sets up it allocates once, in a burst: weights, states of an optimizer, caches. A
leak goes on: blocks of one line and size are left in each QUARTER of the measured steps, about as
many in each, between other blocks that come and go. Without phases a history that is nothing but
setting up could look so, too: then as much has to be freed in each quarter as is left. What the
same lines left before the measured steps is lost, too, and counts to the gain.
"""

from collections.abc import Iterator

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
_NEXT = "record more steps, to see whether the growth ends"


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the bytes that leaking lines left, together."""
    length = (view.last - view.first + 1) / _QUARTERS
    if length < 1:
        return
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
    if steady.is_empty() or not _churns(
        view, rows, left.join(steady, on=["site", "bytes"], how="semi"), length
    ):
        return
    total = int(steady["total"].sum())
    if view.part(total) < thresholds.MATTERS:
        return
    worst = steady.sort("total", "site", descending=[True, False])
    evidence = (
        view.size("left by the measured steps", total),
        view.size("left by these lines in all", _left_in_all(view, steady)),
        view.number("blocks left", int(steady["count"].sum())),
        view.size("of one line", worst["total"][0]),
        view.number("blocks of that line", worst["count"][0], _QUARTERS),
    )
    share = view.part(_left_in_all(view, steady))
    yield KIND.finding(
        worst["site"][0],
        evidence,
        share=share,
        gain=share,
        confidence=0.9 if view.by_phase else 0.7,
        capture_next=(_NEXT,),
    )


def _left_in_all(view: MemoryView, steady: pl.DataFrame) -> int:
    """Return the bytes of such blocks that stand as the steps end, of earlier steps, too."""
    left = view.blocks.filter(pl.col("freed").is_null())
    return int(left.join(steady, on=["site", "bytes"], how="semi")["bytes"].sum())


def _churns(view: MemoryView, rows: pl.DataFrame, left: pl.DataFrame, length: float) -> bool:
    """Whether phases mark the steps, or each quarter also frees what it leaves, as steps do.

    The allocated bytes fall within a quarter by as much, too: setting up frees nothing, and the
    layers of one forward pass leave alike and free nothing but small temporaries.
    """
    if view.by_phase:
        return True
    freed = rows.filter(pl.col("freed").is_not_null())
    sums = [part.group_by("quarter").agg(pl.col("bytes").sum()) for part in (freed, left)]
    both = sums[1].join(sums[0], on="quarter", how="left", suffix="_freed")
    level = pl.col("allocated_bytes")
    falls = (
        view.levels.with_columns(quarter=((pl.col("index") - view.first) / length).cast(pl.Int64))
        .group_by("quarter", maintain_order=True)
        .agg((level.cum_max() - level).max().alias("fall"))
    )
    least = pl.min_horizontal(pl.col("bytes_freed").fill_null(0), pl.col("fall").fill_null(0))
    known = both.join(falls, on="quarter", how="left")
    return bool(known.select((least >= pl.col("bytes")).all()).item())
