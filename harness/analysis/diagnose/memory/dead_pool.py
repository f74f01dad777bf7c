"""Reserved bytes of a CUDA graph's private pool lie idle where other pools had to reserve theirs.

A graph's pool serves nothing but its graphs. Two patterns show that its bytes are missed elsewhere:
several such pools, none of which an allocation touches in the measured steps (in one pool, graphs
use the same free bytes in turn); and a pool that a whole phase never touches while another pool
reserves new memory in it (torch.cuda, "CUDA Graphs", "Sharing memory across captures"). Without
phases, what comes after a pool's last event stands for them. One pool alone may be in use by
replays, which no allocator sees, and is no finding.
"""

from collections.abc import Iterator

import polars as pl

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView
from harness.evidence.tables import GRAPH_POOL

KIND = FindingKind(
    "dead-pool",
    "memory",
    "CUDA graphs' private pools hold memory that nothing else can use.",
    fix=(
        "capture all graphs into one pool, the largest first: torch.cuda.graph(g, pool=…)",
        "delete graphs that are not replayed, then torch.cuda.empty_cache()",
        "give every shape that runs a graph, so that none runs eagerly beside the pool",
    ),
)


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield the bytes that one shared pool would not need."""
    idle = pl.col("events") == 0 if view.by_phase else pl.col("last") < view.last
    graphs = view.pools.filter(
        pl.col("pool").str.starts_with(GRAPH_POOL), idle, pl.col("reserved_bytes") > 0
    )
    if graphs.is_empty():
        return
    free = (graphs["reserved_bytes"] - graphs["allocated_bytes"]).to_list()
    beside = max(
        min(_grown(view, pool, last), unused)
        for pool, last, unused in zip(graphs["pool"], graphs["last"], free, strict=True)
    )
    apart = sum(free) - max(free)
    dead = max(apart, beside)
    if view.part(dead) < thresholds.MATTERS:
        return
    evidence = (
        view.size("free in graphs' pools that no allocation touches", sum(free)),
        view.size("of it what sharing one pool would save", apart),
        view.size("reserved by other pools while one of them lay idle", beside),
        view.number("such pools", graphs.height),
    )
    share = view.part(dead)
    yield KIND.finding("CUDA graphs' pools", evidence, share=share, gain=share, confidence=0.8)


def _grown(view: MemoryView, pool: str, last_event: int) -> int:
    """Return the bytes that other pools reserved after a pool's last event, in phases after it.

    Of segments that stand in the measured steps.
    """
    if not view.by_phase:
        later = view.segments.filter(pl.col("pool") != pool, pl.col("index") > last_event)
        return int(later["bytes"].sum())
    own = view.phases.filter(pl.col("pool") == pool)
    if own.is_empty():
        return 0
    later = view.phases.filter(
        pl.col("pool") != pool,
        pl.col("first") > own["last"].max(),
        ~pl.col("phase").is_in(own["phase"].implode()),
    )
    return sum(
        int(
            view.segments.filter(pl.col("pool") == other, pl.col("index").is_between(first, last))[
                "bytes"
            ].sum()
        )
        for other, first, last in later.select("pool", "first", "last").iter_rows()
    )
