"""The GPU operations of a program's steps, in the order in which the host launched them."""

from dataclasses import dataclass

import polars as pl

from harness.analysis import intervals, step
from harness.analysis.idle import host_calls
from harness.analysis.step import Step
from harness.evidence.tables import Tables


@dataclass(frozen=True)
class LaunchedOps:
    """The operations of one device in the steps of its program.

    ``ops``: step, launched_ns (null where no host call is known), in_graph (a graph replays it),
    runs_ns (since when it works), own_ns and the columns of ``gpu_ops``; by step and launch.
    ``lengths_ns``: by step, from the start of its first operation to that of the next step's, of
    the last, and of steps apart, to its own end. ``before_ns``: time of operations that nothing in
    the trace launched and that ran before the first step's; they are in no step.
    """

    ops: pl.DataFrame
    lengths_ns: tuple[int, ...]
    busy_ns: tuple[int, ...]
    steps: Step
    before_ns: int = 0


def launched(tables: Tables) -> LaunchedOps:
    """Return the steps of the device that worked most, of those that work in any; else none.

    ``own_ns`` divides each instant among the operations that run in it, those of other steps too,
    so that these times add up to the time of a busy GPU. An operation that waits for the one before
    it on its stream does not run.
    """
    steps = step.of(tables)
    timed = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"])
    of_device = _is_busiest(timed, steps.ops)
    placed = _with_launch(steps.ops.filter(of_device), tables["api_calls"])
    if placed.is_empty():
        return LaunchedOps(placed, (), (), steps)
    spans = step.windows(placed, apart=steps.is_apart)
    last = spans["end_ns"].max()
    until = spans["end_ns"] if steps.is_apart else spans["start_ns"].shift(-1, fill_value=last)
    ops = shared(placed).sort("step", "launched_ns", "start_ns", nulls_last=True)
    busy = ops.group_by("step").agg(pl.col("own_ns").sum()).sort("step")["own_ns"]
    lengths = (until - spans["start_ns"]).to_list()
    first = placed["start_ns"].min()
    others = _with_launch(timed.filter(of_device), tables["api_calls"])
    strays = others.filter(pl.col("launched_ns").is_null(), pl.col("start_ns") < first)
    before = int(strays["duration_ns"].sum()) if steps.ranges else 0
    return LaunchedOps(ops, tuple(lengths), tuple(round(each) for each in busy), steps, before)


def _is_busiest(ops: pl.DataFrame, in_steps: pl.DataFrame) -> pl.Expr:
    """Return whether an operation is of the busiest of the devices that work in steps."""
    working = pl.col("device").is_in(in_steps["device"].unique().implode(), nulls_equal=True)
    by_device = ops.filter(working).group_by("device").agg(pl.col("duration_ns").sum())
    devices = by_device.sort("duration_ns", "device", descending=True)["device"]
    return pl.col("device").eq_missing(pl.lit(next(iter(devices), None), pl.Int64))


def _with_launch(ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return operations with launched_ns, of the first call of their correlation, and in_graph."""
    replays = host_calls.launches_graph(pl.col("name"))
    calls = (
        api_calls.drop_nulls(["correlation", "start_ns"])
        .group_by("correlation")
        .agg(pl.col("start_ns").min().alias("launched_ns"), replays.any().alias("replayed"))
    )
    with_calls = ops.join(calls, on="correlation", how="left", maintain_order="left")
    whole = pl.col("kind").cast(pl.String) == "graph"
    in_graph = (
        pl.col("graph_node").is_not_null() | whole | pl.col("replayed").fill_null(value=False)
    )
    return with_calls.with_columns(in_graph=in_graph).drop("replayed")


def shared(ops: pl.DataFrame) -> pl.DataFrame:
    """Return operations with runs_ns and own_ns: each instant is shared by those that run in it."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    keyed = ops.with_columns(end_ns=end).with_columns(runs_ns=_runs_ns())
    edges = (
        pl.concat(
            [
                keyed.select(at="runs_ns", change=pl.lit(1)),
                keyed.select(at="end_ns", change=pl.lit(-1)),
            ]
        )
        .group_by("at")
        .agg(pl.col("change").sum())
        .sort("at")
    )
    running = edges["change"].cum_sum().shift(1).fill_null(0)
    lasted = edges["at"].diff().fill_null(0)
    share = pl.Series((lasted / running).to_list(), dtype=pl.Float64)
    reached = edges.select("at", total=share.set(running == 0, 0.0).cum_sum())
    for key in ("runs_ns", "end_ns"):
        total = reached.rename({"at": key, "total": f"{key}_total"})
        keyed = keyed.join(total, on=key, how="left", maintain_order="left")
    own = pl.col("end_ns_total") - pl.col("runs_ns_total")
    return keyed.with_columns(own_ns=own).select(*ops.columns, "runs_ns", "own_ns")


def _runs_ns() -> pl.Expr:
    """Return when each operation begins to work.

    Under programmatic dependent launch (PDL) a kernel's blocks start while the kernel before it on
    the stream still runs, and wait for its end: CUDA C++ Programming Guide, "Programmatic Dependent
    Launch and Synchronization". A kernel that ends earlier than that does not wait for it.
    """
    before = pl.col("end_ns").cum_max().shift(1).over("stream", order_by=["start_ns", "end_ns"])
    waits = before.is_between("start_ns", "end_ns", closed="none")
    return pl.when(waits).then(before).otherwise("start_ns")


def overlap_ns(launched_: LaunchedOps) -> int:
    """Return the time in which two or more operations ran, over all steps."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    runs = launched_.ops.select(start_ns="runs_ns", end_ns=end)
    return intervals.length(runs) - intervals.length(intervals.union(runs))
