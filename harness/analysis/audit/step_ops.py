"""The GPU operations of a program's steps, in the order in which the host launched them."""

from dataclasses import dataclass

import polars as pl

from harness.analysis import intervals, steady_state
from harness.evidence.tables import Tables

_MARK = r"^(?:step:.*|ProfilerStep#\d+)$"
"""The ranges that mark steps: those of the probe and torch.profiler's own (torch/profiler)."""


@dataclass(frozen=True)
class Steps:
    """The operations of one device in some steps.

    ``ops``: step, launched_ns (null where no host call is known), in_graph (a graph replays it),
    runs_ns (since when it works), own_ns and the columns of ``gpu_ops``; by step and launch.
    ``lengths_ns``: by step, from the start of its first operation to that of the next step's, of
    the last to its own end. ``marked``: whether ranges say where steps begin; otherwise all that
    repeats counts as one. ``before_ns``: time of operations that nothing in the trace launched and
    that ran before the first step's; they are in no step.
    """

    ops: pl.DataFrame
    lengths_ns: tuple[int, ...]
    busy_ns: tuple[int, ...]
    marked: bool
    before_ns: int = 0


def steps(tables: Tables) -> Steps:
    """Return the steps of the device that worked most, of those that work in any; else none.

    An operation belongs to the step during which a host call launched it, on whichever thread:
    autograd launches the backward pass from threads of its own. ``own_ns`` divides each instant
    among the operations that run in it, those of other steps too, so that these times add up to the
    time of a busy GPU. An operation that waits for the one before it on its stream does not run.
    """
    timed = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"])
    rows, placed, marked = _of_busiest(_launched(timed, tables["api_calls"]), tables)
    if placed.is_empty():
        return Steps(timed, (), (), marked=False)
    end = pl.col("start_ns") + pl.col("duration_ns")
    spans = placed.group_by("step").agg(pl.col("start_ns").min(), end_ns=end.max()).sort("step")
    # Steps of the probe begin on an idle device: what the host does between them is no part of one.
    apart = marked and steady_state.is_marked(tables)
    until = spans["end_ns"] if apart else spans["start_ns"].shift(-1).fill_null(spans["end_ns"][-1])
    ops = _shared(placed).sort("step", "launched_ns", "start_ns", nulls_last=True)
    busy = ops.group_by("step").agg(pl.col("own_ns").sum()).sort("step")["own_ns"]
    lengths = (until - spans["start_ns"]).to_list()
    first = placed["start_ns"].min()
    strays = rows.filter(pl.col("launched_ns").is_null(), pl.col("start_ns") < first)
    before = int(strays["duration_ns"].sum()) if marked else 0
    return Steps(ops, tuple(lengths), tuple(round(each) for each in busy), marked, before)


def _of_busiest(ops: pl.DataFrame, tables: Tables) -> tuple[pl.DataFrame, pl.DataFrame, bool]:
    """Return a device's operations, those in steps with their step, and whether ranges mark these.

    The device is the busiest that has any in a marked step, or else in what repeats.
    """
    by_device = ops.group_by("device").agg(pl.col("duration_ns").sum())
    devices = by_device.sort("duration_ns", "device", descending=True)["device"]
    apart = [ops.filter(pl.col("device").eq_missing(device)) for device in devices]
    marks = _marks(tables["ranges"])
    for rows in apart:
        if (placed := _placed(rows, marks)).height:
            return rows, placed, True
    window = steady_state.windows(tables)
    for rows in apart:
        if (within := steady_state.inside(rows, window)).height:
            return rows, within.with_columns(step=pl.lit(0, pl.Int64)), False
    return ops, ops.clear(), False


def _launched(ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return operations with the start of the first host call of their correlation, and in_graph.

    CUDA, its driver and HIP call the launch of a graph ...GraphLaunch.
    """
    replays = pl.col("name").cast(pl.String).str.contains("GraphLaunch")
    calls = (
        api_calls.drop_nulls(["correlation", "start_ns"])
        .group_by("correlation")
        .agg(pl.col("start_ns").min().alias("launched_ns"), replays.any().alias("replayed"))
    )
    known = ops.join(calls, on="correlation", how="left", maintain_order="left")
    whole = pl.col("kind").cast(pl.String) == "graph"
    in_graph = (
        pl.col("graph_node").is_not_null() | whole | pl.col("replayed").fill_null(value=False)
    )
    return known.with_columns(in_graph=in_graph).drop("replayed")


def _marks(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return step, from_ns and until_ns of the ranges that mark steps, by start."""
    name = pl.col("name").cast(pl.String)
    return (
        ranges.filter(name.str.contains(_MARK))
        .drop_nulls(["start_ns", "duration_ns"])
        .sort("start_ns")
        .with_row_index("step")
        .select(
            pl.col("step").cast(pl.Int64),
            from_ns="start_ns",
            until_ns=pl.col("start_ns") + pl.col("duration_ns"),
        )
    )


def _placed(rows: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the operations that were launched within a mark.

    Those without a known launch belong to the step whose first operation began last before them.
    """
    by_launch = (
        rows.drop_nulls("launched_ns")
        .sort("launched_ns", maintain_order=True)
        .join_asof(marks, left_on="launched_ns", right_on="from_ns", check_sortedness=False)
        .filter(pl.col("launched_ns") < pl.col("until_ns"))
        .drop("from_ns", "until_ns", strict=False)
    )
    begun = by_launch.group_by("step").agg(pl.col("start_ns").min()).sort("start_ns")
    strays = rows.filter(pl.col("launched_ns").is_null()).sort("start_ns")
    by_time = strays.join_asof(begun, on="start_ns", check_sortedness=False).drop_nulls("step")
    return pl.concat([by_launch, by_time.select(by_launch.columns)])


def _shared(ops: pl.DataFrame) -> pl.DataFrame:
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


def idle_ns(found: Steps) -> tuple[int, ...]:
    """Return the time of each step in which the device did nothing."""
    return tuple(
        max(0, length - busy) for length, busy in zip(found.lengths_ns, found.busy_ns, strict=True)
    )


def overlap_ns(found: Steps) -> int:
    """Return the time in which two or more operations ran, over all steps."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    runs = found.ops.select(start_ns="runs_ns", end_ns=end)
    return intervals.length(runs) - intervals.length(intervals.union(runs))
