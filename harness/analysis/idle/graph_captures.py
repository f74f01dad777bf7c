"""The time in which a thread captures a CUDA graph and makes it ready to launch."""

import polars as pl

from harness.analysis.idle import host_calls

NAME = "CUDA graph capture"
"""What such a stretch is called among ranges."""
_BEGINS = r"StreamBeginCapture"
_ENDS = r"GraphInstantiate"


def of(api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return name, thread, start_ns and duration_ns of each capture that was instantiated.

    It lasts from the call that begins the capture to the end of the next instantiation of its
    thread. The launches between only record nodes: nothing runs. None where no graph is launched:
    such a recording is of a start, as engines capture all of their graphs before they serve.
    """
    names = pl.col("name").cast(pl.String).str
    launched = api_calls.select(host_calls.launches_graph(pl.col("name")).any()).item()
    api_calls = api_calls if launched else api_calls.clear()
    calls = api_calls.select(
        "thread",
        "start_ns",
        end_ns=pl.col("start_ns") + pl.col("duration_ns"),
        begins=names.contains(_BEGINS),
        ends=names.contains(_ENDS),
    ).drop_nulls()
    begun = calls.filter("begins").select("thread", "start_ns").sort("start_ns")
    ready = calls.filter("ends").select("thread", "end_ns", at="start_ns").sort("at")
    pairs = begun.join_asof(
        ready,
        left_on="start_ns",
        right_on="at",
        by="thread",
        strategy="forward",
        check_sortedness=False,
    ).drop_nulls("end_ns")
    # Of captures that one instantiation follows, the last one is what it makes ready.
    last = pairs.group_by("thread", "end_ns").agg(pl.col("start_ns").max())
    return last.select(
        pl.lit(NAME).alias("name"),
        "thread",
        "start_ns",
        duration_ns=pl.col("end_ns") - pl.col("start_ns"),
    ).sort("start_ns")
