"""What of a device's idle time is the profiler's: it slows the host, and the device waits for it.

A profiler notes each host call and each operator of torch, on the thread that makes it. So the
thread launches later than the program itself does. Where an unprofiled run of the same step is
known, what the recorded step takes longer is the profiler's. Elsewhere it is estimated: by the
events that were recorded between two calls.
"""

import polars as pl

from harness.analysis.idle import causes as idle_causes
from harness.evidence.tables import Tables

CALL_NS = 2_000
"""What recording a call into CUDA costs at least: of the three specimens of problem 6 in which the
host launches over 500 kernels one by one and waits for no result, 2.0 (launch-bound-optimizer) and
3.4 µs a call (launch-bound-chain); of problem 7's ranks 4.7 (decode-b1.nccl): the latency of a
profiled step less that of an unprofiled one, by its calls, under nsys (H200)."""
OPERATOR_NS = 2_000
"""The same of an operator of torch, without shapes and stacks. Where the host runs the same few
operators again and again it is 0.4 (problem 6, data-starved-loader), else 2.3 and more (problem 1,
stack-m1.f8-0.13.0-eager) and 3.5 and more (problem 5, medium.eager on an H100)."""

_OF_THE_HOST = (idle_causes.HOST, idle_causes.LAUNCH, idle_causes.SYNCHRONISE)
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def between_calls_ns(tables: Tables) -> float:
    """Return what recording costs a thread between two calls: one call, and its operators.

    Operators are not kept one by one, so each call has as many as the mean of the capture.
    """
    calls, operators = tables["api_calls"].height, tables["operators"]
    if not calls:
        return 0.0
    recorded = int(operators.filter(pl.col("total_ns").is_not_null())["count"].sum())
    return CALL_NS + OPERATOR_NS * recorded / calls


def with_estimate(pieces: pl.DataFrame, cost_ns: float) -> pl.DataFrame:
    """Return idle pieces (of host_state.idle_pieces) with ``cost``, and between_ns without it.

    ``cost`` is the fraction of the piece that is the profiler's, 0 inside of calls. ``cost_ns``:
    of :func:`between_calls_ns`.
    """
    between = pl.col("between_ns")
    cost = pl.when(between > 0).then(pl.min_horizontal(cost_ns / between, 1.0)).otherwise(0.0)
    own = (between - cost_ns).clip(0).cast(pl.Int64)
    return pieces.with_columns(between_ns=own, cost=cost.cast(pl.Float64).fill_null(0.0))


def with_known(idle: pl.DataFrame, excess_ns: float) -> pl.DataFrame:
    """Return idle pieces with ``cost``, where the recorded steps took ``excess_ns`` longer.

    The profiler slows what the launching thread does, so that idle time shrinks evenly; a wait for
    input or for the allocator is not the profiler's.
    """
    host = pl.col("cause").is_in(_OF_THE_HOST)
    most = idle.filter(host).select(_LENGTH.sum()).item()
    part = min(max(excess_ns, 0.0) / most, 1.0) if most else 0.0
    return idle.with_columns(cost=pl.when(host).then(part).otherwise(0.0))


def own_ns() -> pl.Expr:
    """Return how long the pieces are without the profiler's part, in whole ns."""
    return (_LENGTH * (1 - pl.col("cost"))).round().cast(pl.Int64)


def taken_off(idle: pl.DataFrame) -> int:
    """Return how much of the idle time is the profiler's, in ns."""
    return int(idle.select((_LENGTH - own_ns()).sum()).item())
