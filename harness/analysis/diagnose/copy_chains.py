"""The part of a timeline in which kernels could hide copies between host and device.

Batches that are copied ahead of their kernels still begin with a copy, and results that are fetched
behind theirs end with one, however well the rest overlaps.
"""

import polars as pl

_END = pl.col("end_ns")
_LENGTH = _END - pl.col("start_ns")


def hideable(kernels: pl.DataFrame, copies: pl.DataFrame, stretches: pl.DataFrame) -> pl.DataFrame:
    """Return of each stretch the time in which a copy could run beside a kernel: start_ns, end_ns.

    It lasts from the first to the last of ``kernels``. The first copy does not count if the kernels
    before it take less time than it does, nor the last one if those after it do. All three:
    start_ns and end_ns, the kernels disjoint.
    """
    starts = stretches.select("start_ns", stretch="start_ns").sort("start_ns")
    work, copied = (
        rows.select("start_ns", "end_ns").sort("start_ns").join_asof(starts, on="start_ns")
        for rows in (kernels, copies)
    )
    spans = work.group_by("stretch").agg(pl.col("start_ns").min(), _END.max())
    ends = copied.group_by("stretch").agg(
        pl.col("start_ns").min().alias("first_ns"),
        _END.sort_by("start_ns").first().alias("arrived_ns"),
        pl.col("start_ns").sort_by("end_ns").last().alias("fetched_ns"),
        _END.max().alias("last_ns"),
    )
    beside = (
        work.join(ends, on="stretch")
        .group_by("stretch")
        .agg(
            _LENGTH.filter(pl.col("start_ns") < pl.col("first_ns")).sum().alias("before"),
            _LENGTH.filter(pl.col("last_ns") < _END).sum().alias("after"),
        )
    )
    known = spans.join(ends, on="stretch", how="left").join(beside, on="stretch", how="left")
    fills = pl.col("before") < pl.col("arrived_ns") - pl.col("first_ns")
    drains = pl.col("after") < pl.col("last_ns") - pl.col("fetched_ns")
    begin = pl.when(fills).then(pl.max_horizontal("start_ns", "arrived_ns")).otherwise("start_ns")
    end = pl.when(drains).then(pl.min_horizontal("end_ns", "fetched_ns")).otherwise("end_ns")
    return known.select(start_ns=begin, end_ns=end).sort("start_ns")
