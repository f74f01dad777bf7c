"""The innermost range around each launch: where in the program a kernel comes from."""

from collections import defaultdict

import polars as pl


def with_paths(ops: pl.DataFrame, calls: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """Return ``ops`` with ``path``: of the ranges open at its launch the one that began last.

    Null where none was open, or the launch is not known.
    """
    opened = defaultdict(list)
    columns = ranges.select("name", "start_ns", "duration_ns", "thread")
    timed = columns.drop_nulls().sort("start_ns").cast({"name": pl.String})
    for name, start, duration, thread in timed.iter_rows():
        opened[thread].append((start, start + duration, name))
    wanted = ops["correlation"].drop_nulls().unique().implode()
    launches = calls.filter(pl.col("correlation").is_in(wanted), pl.col("thread").is_in(opened))
    found: dict[int, str] = {}
    for (thread,), mine in launches.sort("start_ns").partition_by("thread", as_dict=True).items():
        later = iter(opened[thread])
        coming = next(later, None)
        stack: list[tuple[int, int, str]] = []
        for correlation, at in mine.select("correlation", "start_ns").iter_rows():
            while coming and coming[0] <= at:
                stack.append(coming)
                coming = next(later, None)
            while stack and stack[-1][1] <= at:
                stack.pop()
            if stack:
                found[correlation] = stack[-1][2]
    return ops.with_columns(
        pl.col("correlation")
        .replace_strict(found, default=None, return_dtype=pl.String)
        .alias("path")
        if found
        else pl.lit(None, pl.String).alias("path")
    )
