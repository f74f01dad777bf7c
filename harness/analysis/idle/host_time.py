"""How long the launching thread was blocked by the device, or did what only a wait is made for."""

import polars as pl

from harness.analysis import intervals
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_calls


def for_waits_ns(calls: pl.DataFrame, reads: pl.DataFrame) -> int:
    """Return that time in ns of the thread that launched most operations.

    ``calls`` (with ``kind``) and ``reads`` (host_reads): of a capture's steady state.
    """
    threads = calls.filter(pl.col("kind") == host_calls.LAUNCH)["thread"].mode().sort()
    its_own = pl.col("thread").is_in(threads.head(1).implode())
    waits = pl.col("kind").is_in([host_calls.SYNCHRONISE, host_calls.ALLOCATE])
    slow = pl.col("duration_ns") > idle_causes.LONG_NS
    blocking = calls.filter(its_own, waits | ((pl.col("kind") == host_calls.COPY) & slow))
    end = pl.col("start_ns") + pl.col("duration_ns")
    parts = [
        blocking.select("start_ns", end_ns=end),
        reads.filter(its_own).select("start_ns", "end_ns"),
    ]
    return intervals.length(intervals.union(pl.concat(parts)))
