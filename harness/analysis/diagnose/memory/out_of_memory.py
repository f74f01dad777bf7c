"""An allocation failed: the allocator had no free piece that is large enough, nor had the driver.

The allocator asks the driver for a segment where none of its free pieces is large enough; where the
driver has too little, it gives back all segments without a block and asks again (torch.cuda.memory,
"Memory management"). So what is free in used segments is lost to the request, and where it would
have sufficed together with what the driver had, pieces are to blame. Of several failures the last
one is told: what came before it, the program survived. What holds the rest is told by the line that
asked for it.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose.finding import OUT_OF_MEMORY, Evidence, Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView
from harness.analysis.units import size

KIND = FindingKind(
    OUT_OF_MEMORY,
    "memory",
    "An allocation failed: no memory was left.",
    fix=(
        "free or shrink what holds most: a smaller batch, activation checkpointing, lower"
        " precision, sharding",
        "keep no tensors that nothing needs any more",
    ),
)
PIECES = FindingKind(
    OUT_OF_MEMORY,
    "memory",
    "An allocation failed although enough was free: in pieces.",
    fix=(
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "allocate what is kept before what is dropped",
    ),
)
_LINES = 2


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the last failure, with what holds the memory by line."""
    if view.failed.is_empty():
        return
    last = view.failed.sort("index").row(-1, named=True)
    free = view.free.filter(pl.col("index") == last["index"]).to_dicts()
    lines = view.by_site(view.live(last["index"]))
    in_pieces = _in_pieces(last, free)
    evidence = (
        view.size("asked for", last["bytes"]),
        *_free(view, last["device_free_bytes"], free),
        *(view.size("free in segments in use", parts["free_bytes"]) for parts in free if in_pieces),
        *_held(view, lines.head(_LINES)),
    )
    kind = PIECES if in_pieces else KIND
    share = view.part(int(lines["bytes"].sum())) if lines.height else None
    yield kind.finding(last["site"], evidence, share=share, confidence=1.0)


def _free(view: MemoryView, device: int | None, free: list[dict[str, int]]) -> Iterator[Evidence]:
    """Yield what the device had free, and the largest piece that the allocator had; if recorded."""
    pieces = [parts["largest_bytes"] for parts in free]
    if device is None:
        yield from (view.size("largest free piece of what is reserved", most) for most in pieces)
        return
    what = "free on the device"
    for most in pieces:
        what += f", beside a piece of {size(most)}" if most else ", and nothing"
        what += " of what is reserved"
    yield view.size(what, device)


def _held(view: MemoryView, lines: pl.DataFrame) -> Iterator[Evidence]:
    for site, held, blocks in lines.iter_rows():
        yield view.size(f"held by {blocks} blocks of {site}", held)


def _in_pieces(last: dict[str, int | None], free: list[dict[str, int]]) -> bool:
    """Return whether what the driver and the allocator had free would have sufficed as one."""
    asked, device = last["bytes"] or 0, last["device_free_bytes"] or 0
    return any(device + parts["free_bytes"] + parts["cached_bytes"] >= asked for parts in free)
