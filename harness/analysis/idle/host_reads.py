"""Values that the host reads back and waits for, as by ``.item()``."""

import polars as pl

from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_calls

_TO_HOST = "Device-to-Host|DtoH"


def reads(gpu_ops: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that copy a few bytes to the host right before a wait of their thread.

    ``calls`` have ``kind``. Columns: thread, correlation, start_ns and end_ns, the call with the
    dispatch before it, of up to LONG_NS: neither is made where nothing is read.
    """
    start, kind = pl.col("start_ns"), pl.col("kind")
    end = start + pl.col("duration_ns")
    small = gpu_ops.filter(
        pl.col("copy_kind").cast(pl.String).str.contains(_TO_HOST),
        pl.col("bytes") <= idle_causes.SMALL_BYTES,
    )
    before = pl.max_horizontal(end.shift(1), start - idle_causes.LONG_NS).over("thread")
    waited = (kind.shift(-1) == host_calls.SYNCHRONISE).over("thread")
    return (
        calls.sort("thread", "start_ns")
        .with_columns(begin=before.fill_null(start), waited=waited)
        .filter(
            kind == host_calls.COPY,
            "waited",
            pl.col("correlation").is_in(small["correlation"].implode()),
        )
        .select("thread", "correlation", pl.col("begin").alias("start_ns"), end_ns=end)
    )
