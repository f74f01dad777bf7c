"""How long the launching thread was blocked by the device, or did what only a wait is made for."""

import polars as pl

from harness.analysis import host_calls, idle_causes, intervals


def for_waits_ns(ops: pl.DataFrame, calls: pl.DataFrame) -> int:
    """Return that time in ns of the thread that launched most operations.

    ``ops`` and ``calls`` (with ``kind``): of a capture's steady state. A small copy to the host
    right before a wait is a value that is read, as by ``.item()``: its call counts, and the
    dispatch before it for up to LONG_NS, as neither is made where nothing is read.
    """
    threads = calls.filter(pl.col("kind") == host_calls.LAUNCH)["thread"].mode().sort()
    mine = calls.filter(pl.col("thread").is_in(threads.head(1).implode()))
    kind, start = pl.col("kind"), pl.col("start_ns")
    end = start + pl.col("duration_ns")
    waits = kind.is_in([host_calls.SYNCHRONISE, host_calls.ALLOCATE])
    slow = pl.col("duration_ns") > idle_causes.LONG_NS
    blocking = mine.filter(waits | ((kind == host_calls.COPY) & slow))
    ordered = mine.sort("start_ns").with_columns(
        before=pl.max_horizontal(end.shift(1), start - idle_causes.LONG_NS).fill_null(start),
        waited=kind.shift(-1) == host_calls.SYNCHRONISE,
    )
    small = ops.filter(
        pl.col("copy_kind").cast(pl.String).str.contains("Device-to-Host|DtoH|Device -> P"),
        pl.col("bytes") <= idle_causes.SMALL_BYTES,
    )
    reading = ordered.filter(
        kind == host_calls.COPY,
        "waited",
        pl.col("correlation").is_in(small["correlation"].implode()),
    )
    parts = [
        blocking.select("start_ns", end_ns=end),
        reading.select(pl.col("before").alias("start_ns"), end_ns=end),
    ]
    return intervals.length(intervals.union(pl.concat(parts)))
