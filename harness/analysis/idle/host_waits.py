"""Waits of host threads for another thread, a process, a file or a socket."""

import polars as pl

from harness.analysis.idle import host_state


def for_input(waits: pl.DataFrame, gpu_ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the waits in which no thread launched a kernel.

    Where another thread did, the thread waited for that work, as one that calls ``backward()``
    waits for autograd's.
    """
    kernels = gpu_ops.filter(pl.col("kind").is_in(["kernel", "graph"]))
    launched = host_state.launches(kernels, api_calls)["call_start"].sort()
    timed = waits.drop_nulls(["start_ns", "duration_ns", "thread"])
    before, until = (
        launched.search_sorted(timed.select(at).to_series())
        for at in (pl.col("start_ns"), pl.col("start_ns") + pl.col("duration_ns"))
    )
    return timed.filter(before == until)
