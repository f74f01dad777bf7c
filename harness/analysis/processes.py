"""Processes of one capture that follow one another on its GPUs, as a script's commands do.

Each of them is a run of its own, with a start-up of its own. Processes at work at the same time,
such as ranks, are one program.
"""

import polars as pl

from harness.analysis import intervals
from harness.evidence.tables import Tables

_THREADS = 1 << 24
"""Threads that a process may have in nsys's numbers of them, which begin with the process's
(``globalTid``, Nsight Systems User Guide, "SQLite Schema Reference"). Other profilers' are smaller,
and of one process."""
_LEAST = 0.05
"""Of the GPU's time: a process that has less only looks for a GPU, or tries it."""


def in_turn(tables: Tables, timed: pl.DataFrame) -> list[Tables]:
    """Return a capture's tables by processes that follow one another, by start.

    ``timed``: its operations, or those of its steps, as ``gpu_ops`` of what is returned. One that
    runs the GPU for less than _LEAST of its time is left out. They are the whole capture where
    processes work at the same time, and where the launch of some operation is not known.
    """
    process = pl.col("thread") // _THREADS
    unparted = [tables | {"gpu_ops": timed}]
    calls = tables["api_calls"].drop_nulls(["correlation", "thread"])
    if calls.select(process.n_unique()).item() < 2:
        return unparted
    owners = calls.select("correlation", process=process).unique("correlation", keep="first")
    ops = timed.join(owners, on="correlation", how="left", maintain_order="left")
    if ops["process"].null_count():
        return unparted
    end = (pl.col("start_ns") + pl.col("duration_ns")).max()
    extents = ops.group_by("process").agg(pl.col("start_ns").min(), end_ns=end)
    runs = intervals.union(extents)
    parts = [intervals.inside(ops, run) for run in runs.iter_slices(1)]
    whole = int(ops["duration_ns"].sum())
    lasting = [part for part in parts if int(part["duration_ns"].sum()) >= _LEAST * whole]
    if len(lasting) < 2:
        return unparted
    return [
        {
            name: table.filter(process.is_in(part["process"].unique().implode()))
            if name in ("api_calls", "ranges")
            else table
            for name, table in tables.items()
        }
        | {"gpu_ops": part.drop("process")}
        for part in lasting
    ]
