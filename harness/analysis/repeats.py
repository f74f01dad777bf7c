"""Numbered ranges that repeat, such as ``step3`` or ``ProfilerStep#12``, seen as one series.

Pure functions of one capture's tables.
"""

import re

import polars as pl

from harness.analysis.timeline import step_activity
from harness.evidence.tables import Tables

_ASSIGNED = re.compile(r"(?<== )\d+")
_LAST = re.compile(r"(?<=[^\W\d])\d+$|(?<=[#_ :-])\d+$")

OPERATOR = r", (?:seq|op_id) = (?:\d+|N)\b.*$"
"""What emit_nvtx appends to an operator's name (torch/csrc/autograd/profiler_legacy.cpp)."""

LEAST = 3
"""Ranges of one series from which on it is one: two could be anything."""


def series(name: str) -> str:
    """Return a range's name with N for its number; the name itself without one.

    ``step3`` → ``stepN``, ``aten::add, op_id = 17`` → ``aten::add, op_id = N``, ``ProfilerStep#12``
    → ``ProfilerStep#N``.
    """
    return _LAST.sub("N", _ASSIGNED.sub("N", name))


def without_number(name: str) -> str:
    """Return the name of a series without the N for its number: ``step N`` → ``step``."""
    return re.sub(r"[_ :=-]*N$", "", name)


def with_series(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return ranges with ``name`` replaced by its series where at least LEAST names share it."""
    rows = ranges.cast({"name": pl.String})
    names = rows["name"].drop_nulls().unique()
    named = pl.DataFrame(
        {"name": names, "series": [series(name) for name in names]},
        schema={"name": pl.String, "series": pl.String},
    )
    numbered = named.filter(pl.col("name") != pl.col("series"))
    common = numbered.filter(pl.len().over("series") >= LEAST)
    rows = rows.join(common, on="name", how="left", maintain_order="left")
    return rows.with_columns(pl.coalesce("series", "name").alias("name")).drop("series")


def series_table(tables: Tables) -> pl.DataFrame:
    """Return one row a series: name, count, and per range of it the host's and the GPU's time.

    Columns: host_ns (median), busy_ns (median of the union of the GPU operations launched in a
    range), busy_min_ns, busy_max_ns, kernels (median). The longest in total of the host first.
    """
    ranges = tables["ranges"]
    named = with_series(ranges)
    numbered = set(named["name"].drop_nulls()) - set(ranges["name"].drop_nulls().cast(pl.String))
    rows = []
    for name in sorted(numbered):
        each = step_activity(tables["gpu_ops"], tables | {"ranges": named}, name)
        rows.append(
            each.select(
                pl.lit(name).alias("name"),
                pl.len().cast(pl.Int64).alias("count"),
                pl.col("host_ns").median(),
                pl.col("busy_ns").median(),
                pl.col("busy_ns").min().alias("busy_min_ns"),
                pl.col("busy_ns").max().alias("busy_max_ns"),
                pl.col("kernels").median(),
            )
        )
    schema = {"name": pl.String, "count": pl.Int64, "host_ns": pl.Float64, "busy_ns": pl.Float64}
    schema |= {"busy_min_ns": pl.Int64, "busy_max_ns": pl.Int64, "kernels": pl.Float64}
    table = pl.concat([pl.DataFrame(schema=schema), *rows])
    total = pl.col("count") * pl.col("host_ns")
    return table.sort(total, "name", descending=[True, False])
