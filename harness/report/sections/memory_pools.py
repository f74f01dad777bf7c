"""Pools of memory at their peaks: which code filled them."""

from harness.analysis import memory
from harness.analysis.units import size
from harness.evidence.tables import DEFAULT_POOL, GRAPH_POOL, Tables
from harness.report.arguments import CaseName, VariantName
from harness.report.escape import Markdown, table
from harness.report.page import Page, not_measured

_MOST_SITES = 8


def filled(page: Page, variant: VariantName, case: CaseName) -> Markdown:
    """Return the table of what filled a variant's pools at their peaks: of CUDA graphs, if any."""
    tables = page.metrics.capture_with("memory_pool_peaks", variant, case)
    return not_measured(variant) if tables is None else filled_table(tables)


def filled_table(tables: Tables) -> Markdown:
    """Return a pool's bytes at its peak, by allocation site, and its unused bytes.

    The pools are those of CUDA graphs; where there are none, the default one.
    """
    rows = []
    pools = list(memory.pool_peaks(tables).iter_rows(named=True))
    of_graphs = [pool for pool in pools if pool["pool"].startswith(GRAPH_POOL)]
    for pool in of_graphs or [pool for pool in pools if pool["pool"] == DEFAULT_POOL]:
        rows.append([f"{pool['pool']}, reserved then", "", size(pool["reserved_bytes"])])
        rows += _site_rows(tables, pool["pool"])
        rows.append(["nothing", "", size(pool["unused_bytes"])])
    return table(["site", "blocks", "bytes"], rows)


def _site_rows(tables: Tables, pool: str) -> list[list[str]]:
    """Return a row a site of a pool, most bytes first, those after the eighth as one row."""
    import polars as pl

    sites = (
        tables["memory_pool_peaks"]
        .filter(pl.col("pool") == pool)
        .group_by("site", maintain_order=True)
        .agg(
            pl.col("bytes").sum(),
            pl.col("count").sum(),
            pl.col("count").null_count().alias("uncounted"),
        )
        .sort("bytes", "site", descending=[True, False])
    )
    rows = [
        [site, "unknown" if uncounted else str(count), size(held)]
        for site, held, count, uncounted in sites.head(_MOST_SITES).iter_rows()
    ]
    rest = sites.slice(_MOST_SITES)
    if rest.height:
        rows.append([f"{rest.height} other sites", "", size(sum(rest["bytes"]))])
    return rows
