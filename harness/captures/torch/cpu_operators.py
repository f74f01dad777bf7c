"""Which operators computed on the CPU: those in which nothing was asked of the GPU."""

import polars as pl

from harness.captures.torch.columns import Strings
from harness.captures.torch.compilation import PHASE

_LEAST_NS = 20_000
"""Shorter ones are views, shapes and dispatch, of which an eager step has thousands."""


def on_cpu(operators: pl.DataFrame, calls: pl.DataFrame, names: Strings) -> pl.DataFrame:
    """Return the table ``cpu_operators``: name, start_ns, duration_ns and thread, by start.

    ``operators`` and ``calls`` into CUDA have start_ns, duration_ns and thread; the operators'
    ``name`` counts in ``names``. Phases of compilation are none.
    """
    phases = [number for number, name in enumerate(names) if name.endswith(PHASE)]
    long = operators.filter(
        pl.col("duration_ns") >= _LEAST_NS, ~pl.col("name").is_in(phases)
    ).drop_nulls(["start_ns", "thread"])
    began = calls.select("thread", call_ns="start_ns").drop_nulls().sort("call_ns")
    found = (
        long.select("name", "start_ns", "duration_ns", "thread")
        .sort("start_ns", "duration_ns", descending=[False, True])
        .join_asof(
            began,
            left_on="start_ns",
            right_on="call_ns",
            by="thread",
            strategy="forward",
            check_sortedness=False,
        )
    )
    end = pl.col("start_ns") + pl.col("duration_ns")
    found = found.filter(pl.col("call_ns").is_null() | (pl.col("call_ns") >= end))
    reached = end.cum_max().shift(1).over("thread")
    return found.filter(reached.is_null() | (end > reached)).drop("call_ns")
