"""The innermost range around each launch: where in the program a kernel comes from."""

from collections import defaultdict

import polars as pl


def with_paths(ops: pl.DataFrame, calls: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """Return ``ops`` with ``path``: the name of the innermost range that was open at the launch.

    Null where no range was open, or the launch is not known.
    """
    opened = defaultdict(list)
    columns = ranges.select("name", "start_ns", "duration_ns", "thread")
    timed = columns.drop_nulls().sort("start_ns").cast({"name": pl.String})
    for name, start, duration, thread in timed.iter_rows():
        opened[thread].append((start, start + duration, name))
    wanted = ops["correlation"].drop_nulls().unique().implode()
    launches = calls.filter(pl.col("correlation").is_in(wanted), pl.col("thread").is_in(opened))
    paths: dict[int, str] = {}
    for (thread,), calls_of_thread in (
        launches.sort("start_ns").partition_by("thread", as_dict=True).items()
    ):
        later = iter(opened[thread])
        coming = next(later, None)
        stack: list[tuple[int, int, str]] = []
        for correlation, at in calls_of_thread.select("correlation", "start_ns").iter_rows():
            while coming and coming[0] <= at:
                stack.append(coming)
                coming = next(later, None)
            while stack and stack[-1][1] <= at:
                stack.pop()
            if stack:
                paths[correlation] = stack[-1][2]
    return ops.with_columns(
        pl.col("correlation")
        .replace_strict(paths, default=None, return_dtype=pl.String)
        .alias("path")
        if paths
        else pl.lit(None, pl.String).alias("path")
    )
