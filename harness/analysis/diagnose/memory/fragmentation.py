"""Segments are reserved although others have enough free bytes, in pieces between live blocks.

A block needs one piece of one segment. The allocator reserves a segment only if no free piece is
large enough: so where the segments of the pool have as many free bytes in sum as the new one, they
are in pieces (torch.cuda.memory, "Memory management"): between live blocks, or, where sizes are
ragged (at least three of them: once or twice is no pattern), in segments without a block that are
each too small. Blocks of at most 1 MiB have segments
of SMALL_SEGMENT to themselves and do not count. At most the reserved bytes beyond the most that was
ever allocated can be saved.

A history that begins late may not have the segment's reservation. Then what is free between live
blocks at the peak tells the same: only pieces of used segments count, because segments without a
block may be the cache of what the program did before.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import memory_thresholds, thresholds
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView
from harness.analysis.hint import for_nvidia
from harness.evidence.tables import FREED_POOL, GRAPH_POOL

KIND = FindingKind(
    "fragmentation",
    "memory",
    "Memory is reserved although enough is free: the free bytes are in pieces.",
    fix=(
        for_nvidia("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        "allocate what is kept before what is dropped",
        "allocate large buffers first, or keep and reuse them",
    ),
)
OF_GROWTH = FindingKind(
    KIND.id,
    "memory",
    "Memory is reserved again and again for tensors that grow: what there is, is too small.",
    fix=(
        "allocate once for the most that it will hold, and write into it, in place of torch.cat "
        "onto what is there",
        "grow by a factor, such as 1.5, so that few sizes occur",
        for_nvidia("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
    ),
)
_ALLOCATOR = "the caching allocator"
"""Where no line is known."""
_OF_LINES = 0.5
"""Of the segments' bytes: reserved for the line that is named."""
_GROWN, _RISING = 1.5, 0.9
"""Last size over the first, and the part of sizes that are no less than the one before."""


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the bytes that stand in the measured steps and that free pieces could have been."""
    beyond = view.peak - view.held
    ways = [
        (min(int(rows["bytes"].sum()), int(rows["spare"].max()), beyond), where, rows)  # type: ignore[arg-type]  # integers
        for where, rows in (
            ("free in partly used segments", _beside_pieces(view)),
            ("free in segments", _ragged(view)),
        )
        if rows.height
    ]
    again, where, rows = max(ways, key=lambda way: way[0], default=(0, "", view.segments))
    between = _between(view)
    wasted = max(again, between)
    if not wasted or view.part(wasted) < memory_thresholds.FRAGMENTED:
        return
    line, kind = _ALLOCATOR, KIND
    if between > again:
        evidence = tuple(_pieces(view))
    else:
        evidence = (
            view.size(f"{where} when another was reserved", int(rows["spare"].max())),  # type: ignore[arg-type]  # integers
            view.size("reserved beyond the most ever allocated", beyond),
            view.number("segments reserved although enough was free", rows.height),
        )
        line, grows = _asked_by(view, rows)
        kind = OF_GROWTH if grows else KIND
    share = view.part(wasted)
    yield kind.finding(line, evidence, share=share, gain=share, confidence=0.9)


def _asked_by(view: MemoryView, segments: pl.DataFrame) -> tuple[str, bool]:
    """Return the line that most segments were reserved for, and whether its blocks grow."""
    made = view.blocks.filter(pl.col("index") >= 0).sort("index")
    blocks = made.select("index", "site", size="bytes")
    first = segments.sort("index").join_asof(blocks, on="index", strategy="forward")
    sums = first.group_by("site").agg(pl.col("bytes").sum()).sort("bytes", "site")
    site, size = sums.row(-1)
    if site is None or size < _OF_LINES * int(first["bytes"].sum()):
        return _ALLOCATOR, False
    sizes = blocks.filter(pl.col("site") == site)["size"]
    rising = int((sizes.diff().drop_nulls() >= 0).sum()) / max(len(sizes) - 1, 1)
    return site, int(sizes[-1]) >= _GROWN * int(sizes[0]) and rising >= _RISING


def _beside_pieces(view: MemoryView) -> pl.DataFrame:
    """Return segments that were reserved beside as many free bytes in used segments."""
    rows = view.segments.with_columns(spare="free_bytes")
    return rows.filter(
        pl.col("bytes") > memory_thresholds.SMALL_SEGMENT, pl.col("spare") >= pl.col("bytes")
    )


def _ragged(view: MemoryView) -> pl.DataFrame:
    """Return segments of at least three sizes, reserved beside as many free bytes of any segment.

    Those that are shared by blocks have one size. A graph's pool keeps its segments for replays,
    and an unknown pool may be one.
    """
    rows = view.segments.with_columns(spare=pl.sum_horizontal("free_bytes", "cached_bytes")).filter(
        pl.col("bytes") > memory_thresholds.SHARED_SEGMENT,
        pl.col("spare") >= pl.col("bytes"),
        ~pl.col("pool").str.starts_with(GRAPH_POOL),
        pl.col("pool") != FREED_POOL,
    )
    return rows if rows["bytes"].n_unique() >= thresholds.REPEATED else rows.clear()


def _between(view: MemoryView) -> int:
    """Return the free bytes of used segments at the peak, of a history that begins late.

    But for the largest piece, which may be of use yet.
    """
    in_graphs = view.pools["pool"].str.starts_with(GRAPH_POOL).any()
    rows = _at_peak(view)
    if in_graphs or not view.recorded or not view.late or rows.is_empty():
        return 0
    return max(int((rows["free_bytes"] - rows["largest_bytes"])[0]), 0)


def _at_peak(view: MemoryView) -> pl.DataFrame:
    return view.free.filter(pl.col("index") == view.top[0])


def _pieces(view: MemoryView) -> Iterator[Evidence]:
    (row,) = _at_peak(view).to_dicts()
    yield view.size("free between live blocks at the peak", row["free_bytes"])
    yield view.size("largest free piece then", row["largest_bytes"])
    yield view.size("free in segments without a block then", row["cached_bytes"])
