"""What a worklog says of a memory capture's pools: what filled them, and which code differs."""

from dataclasses import replace

from harness.analysis import memory
from harness.analysis.diff import memory as differ
from harness.evidence.tables import GRAPH_POOL, Tables
from harness.report import difference
from harness.report.escape import Markdown, table

_MOST_SITES = 8


def filled(tables: Tables) -> Markdown:
    """Return what each graph's pool held at its peak, by site, and what of it nothing used then."""
    rows = []
    for pool in memory.pool_peaks(tables).iter_rows(named=True):
        if pool["pool"].startswith(GRAPH_POOL):
            rows.append([f"{pool['pool']}, reserved then", "", memory.size(pool["reserved_bytes"])])
            rows += _sites(tables, pool["pool"])
            rows.append(["nothing", "", memory.size(pool["unused_bytes"])])
    return table(["site", "blocks", "bytes"], rows)


def changed(a: Tables, b: Tables) -> Markdown:
    """Return which sites differ at the peaks of two captures' pools of graphs."""
    found = differ.compare(a, b)
    graphs = tuple(site for site in found.sites if site.phase.startswith(GRAPH_POOL))
    return difference.markdown(difference.memory(replace(found, pools=(), sites=graphs)), level=4)


def _sites(tables: Tables, pool: str) -> list[list[str]]:
    """Return a row a site, those with most bytes first, the last ones as one row."""
    import polars as pl

    mine = (
        tables["memory_pool_peaks"]
        .filter(pl.col("pool") == pool)
        .group_by("site", maintain_order=True)
        .agg(
            pl.col("bytes").sum(), pl.col("count").sum(), pl.col("count").null_count().alias("some")
        )
        .sort("bytes", "site", descending=[True, False])
    )
    rows = [
        [site, "unknown" if some else str(count), memory.size(size)]
        for site, size, count, some in mine.head(_MOST_SITES).iter_rows()
    ]
    rest = mine.slice(_MOST_SITES)
    if rest.height:
        rows.append([f"{rest.height} other sites", "", memory.size(sum(rest["bytes"]))])
    return rows
