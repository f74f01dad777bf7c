"""An allocation failed: the allocator had no free piece that is large enough, nor had the driver.

The allocator asks the driver for a segment where none of its free pieces is large enough; where the
driver has too little, it gives back all segments without a block and asks again (torch.cuda.memory,
"Memory management"). So what is free in used segments is lost to the request. Pieces are to blame
where, as one, they would have sufficed together with what the process could still get, and where
they are more than any small program leaves (FRAGMENTED); what is free in a graph's pool serves
nothing else. What it could get is what the driver had, unless that was enough: then a limit of the
process's own refused the request (torch.cuda.set_per_process_memory_fraction). No snapshot has this
limit; it is at least the most that was ever reserved.

Of several failures the last one is told: what came before it, the program survived. What holds the
rest is told by the line that asked for it. Where FEW_BLOCKS, the request among them, are
MOST_OF_SPIKE of all, and larger than anything kept, as in transient_spike.py, intermediates fill
the memory, not what the program keeps. They are to blame rather than pieces where they hold more:
that is what their absence would free.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from harness.analysis.diagnose import memory_thresholds
from harness.analysis.diagnose.finding import OUT_OF_MEMORY, Evidence, Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView
from harness.analysis.hint import for_nvidia
from harness.analysis.units import counted, size
from harness.evidence.capture import NO_STACK

_LESS = (
    "free or shrink what holds most: a smaller batch, activation checkpointing, lower"
    " precision, sharding"
)
KIND = FindingKind(
    OUT_OF_MEMORY,
    "memory",
    "An allocation failed: no memory was left.",
    fix=(_LESS, "keep no tensors that nothing needs any more"),
)
PIECES = FindingKind(
    OUT_OF_MEMORY,
    "memory",
    "An allocation failed although enough was free: in pieces.",
    fix=(
        for_nvidia("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        "allocate what is kept before what is dropped",
        "allocate large buffers once and reuse them, or take what is kept from a pool of its own"
        " (torch.cuda.MemPool)",
        "compute in chunks, so that no large block is needed",
    ),
)
LARGE = FindingKind(
    OUT_OF_MEMORY,
    "memory",
    "An allocation failed: a few large intermediates fill the memory.",
    fix=(
        "compute in chunks what makes them (of logits: a chunked or fused cross-entropy), so that"
        " only a part exists at once",
        "make no copy in higher precision of the whole (.float()), and drop what is not needed",
        _LESS,
    ),
)
_LINES = 2


@dataclass(frozen=True)
class _Failure:
    """The last allocation that failed; sizes are bytes, None where they are not recorded.

    ``asked`` was refused at event ``index``, by a line that is ``site``. The driver had ``device``
    free. ``free`` lay in used segments, ``cached`` in others, ``largest`` in one piece.
    """

    view: MemoryView
    index: int
    site: str
    asked: int
    device: int | None
    free: int | None
    cached: int
    largest: int

    @property
    def limited(self) -> bool:
        """Whether the driver had enough for any segment that the request would have taken."""
        most = self.asked + memory_thresholds.SHARED_SEGMENT
        return self.device is not None and self.device >= most

    @cached_property
    def live(self) -> pl.DataFrame:
        """The blocks that were held."""
        return self.view.live(self.index)

    @cached_property
    def pieces(self) -> int:
        """The free bytes that were reserved and in no graph's pool; 0 where not recorded."""
        return 0 if self.free is None else self.free + self.cached - self.view.in_graphs

    @property
    def in_pieces(self) -> bool:
        """Whether the request would have fit, had all been one piece, and the pieces are many."""
        levels = self._before["reserved_bytes"]
        unused = max(levels) - levels[-1] if levels.len() else 0
        more = unused if self.limited else self.device or 0
        many = self.view.part(self.pieces) >= memory_thresholds.FRAGMENTED
        return many and self.pieces + more >= self.asked

    @property
    def large(self) -> pl.DataFrame:
        """The intermediates that fill the memory with the request; none where others hold most.

        They are larger than anything that is kept, and asked for since less was held: since the
        lowest level of the history's later half, where steps end and setting up is over.
        """
        later = self._before.filter(pl.col("index") >= (self.view.first + self.index) // 2)
        low = later.sort("allocated_bytes", "index", descending=[False, True])["index"]
        recent = pl.col("index") > (low[0] if low.len() else -1)
        kept = int(self.live.filter(~recent)["bytes"].max() or 0)  # type: ignore[arg-type]  # integers
        larger = self.live.filter(recent, pl.col("bytes") > kept).sort("bytes", descending=True)
        few = larger.head(memory_thresholds.FEW_BLOCKS - 1)
        most = memory_thresholds.MOST_OF_SPIKE * (self.asked + int(self.live["bytes"].sum()))
        return few if self.asked + int(few["bytes"].sum()) >= most else few.clear()

    @property
    def _before(self) -> pl.DataFrame:
        return self.view.levels.filter(pl.col("index") <= self.index)


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the last failure, with what holds the memory by line."""
    if view.failed.is_empty():
        return
    failure = _last(view)
    kind, why, lines = _cause(failure)
    evidence = (
        view.size("asked for", failure.asked),
        *why,
        *_free(failure),
        *(
            view.size(f"held by {counted(blocks, 'block')} of {site}", held)
            for site, held, blocks in lines.head(_LINES).iter_rows()
        ),
    )
    share = view.part(int(lines["bytes"].sum())) if lines.height else None
    named = (failure.site, *lines["site"])
    where = next((site for site in named if site != NO_STACK), NO_STACK)
    yield kind.finding(where, evidence, share=share, confidence=1.0)


def _cause(failure: _Failure) -> tuple[FindingKind, tuple[Evidence, ...], pl.DataFrame]:
    """Return the cause, its evidence, and site, bytes and blocks of its lines."""
    view, large = failure.view, failure.large
    made = int(large["bytes"].sum())
    if failure.in_pieces and failure.pieces >= made:
        why = view.size("free in segments in use", failure.free or 0)
        return PIECES, (why,), view.by_site(failure.live)
    if large.is_empty():
        return KIND, (), view.by_site(failure.live)
    others = int(failure.live["bytes"].sum()) - made
    what = f"held by {counted(large.height, 'block')} larger than all others, which hold"
    return LARGE, (view.size(f"{what} {size(others)}", made),), view.by_site(large)


def _last(view: MemoryView) -> _Failure:
    row = view.failed.sort("index").row(-1, named=True)
    parts = view.free.filter(pl.col("index") == row["index"]).to_dicts() or [{}]
    return _Failure(
        view=view,
        index=row["index"],
        site=row["site"],
        asked=row["bytes"] or 0,
        device=row["device_free_bytes"],
        free=parts[0].get("free_bytes"),
        cached=parts[0].get("cached_bytes", 0),
        largest=parts[0].get("largest_bytes", 0),
    )


def _free(failure: _Failure) -> Iterator[Evidence]:
    """Yield what the device had free, and the largest piece that the allocator had; if recorded."""
    view, known = failure.view, failure.free is not None
    if failure.device is None:
        if known:
            yield view.size("largest free piece of what is reserved", failure.largest)
        return
    what = "free on the device"
    if failure.limited:
        what += ", but the process's memory limit refused it"
    if known:
        piece = size(failure.largest) if failure.largest else "none"
        what += f" (largest free piece already reserved: {piece})"
    yield view.size(what, failure.device)
