"""How often a device is given kernels, how long they last, and how far ahead the host is."""

import polars as pl

from harness.analysis.host_state import queue_times

SHORT_NS = 10_000
"""A kernel shorter than this lasts about as long as the host takes to launch it: 3 to 10 µs from
torch on an H200's host (api_calls of reports/1-torchao-float8)."""


def launch_rate(gpu_ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return one row a device that ran kernels or graphs.

    Columns: device, kernels (graphs traced as one unit among them), per_second of its span,
    median_ns, low_ns and high_ns (10 and 90 % of the durations), short_share (of the kernels:
    shorter than SHORT_NS), queued_ns and queued_high_ns (median and 90 % of the time between the
    launching call's end and the start; null without calls).
    """
    rows = gpu_ops.with_row_index("row").cast({"row": pl.Int64})
    kernels = rows.filter(pl.col("kind").is_in(["kernel", "graph"])).drop_nulls(
        ["start_ns", "duration_ns"]
    )
    queued = queue_times(gpu_ops, api_calls).select("row", "queued_ns")
    duration, queue = pl.col("duration_ns"), pl.col("queued_ns")
    span = (pl.col("start_ns") + duration).max() - pl.col("start_ns").min()
    return (
        kernels.join(queued, on="row", how="left")
        .group_by("device")
        .agg(
            pl.len().cast(pl.Int64).alias("kernels"),
            (pl.len() / span * 1e9).alias("per_second"),
            duration.median().alias("median_ns"),
            duration.quantile(0.1, "linear").alias("low_ns"),
            duration.quantile(0.9, "linear").alias("high_ns"),
            (duration < SHORT_NS).mean().alias("short_share"),
            queue.median(),
            queue.quantile(0.9, "linear").alias("queued_high_ns"),
        )
        .sort("device", nulls_last=True)
    )
