"""Where the GPU's time went: kernels, copies, idle time, and the work of each step.

Pure functions of one capture's tables. Times are integer
nanoseconds. GPU operations overlap (streams, copies, memsets), so time in which the GPU was busy is
always the length of a union of intervals, never a sum of durations.
"""

from dataclasses import dataclass, field, replace

import polars as pl

from harness.analysis import copies, intervals, launches
from harness.evidence.tables import Tables

GAPS_KEPT = 5


def device_name(number: int | None) -> str:
    """Return a device in a sentence; ``number``: None where the capture does not say it."""
    return "the GPU" if number is None else f"device {number}"


@dataclass(frozen=True)
class Gap:
    """A time in which no operation ran, between the one that ended last and the next to start."""

    start_ns: int
    duration_ns: int
    before: str
    after: str


@dataclass(frozen=True)
class Activity:
    """How busy the GPU was; every figure is null where the capture holds no GPU operation.

    ``span_ns`` runs from the first operation's start to the last one's end; ``busy_ns`` is the time
    in it during which at least one operation (kernel, copy, memset or graph) ran, ``overlap_ns``
    during which two or more did, ``idle_ns`` the rest of the span. ``gaps`` are the longest idle
    times, longest first. ``devices`` holds the same for each device by its number, None where the
    capture does not say it; over all devices, the GPU is busy while any of them is, and
    ``overlap_ns`` is the sum of the devices': work on two of them side by side is no overlap.
    """

    operations: int = 0
    span_ns: int | None = None
    busy_ns: int | None = None
    idle_ns: int | None = None
    overlap_ns: int | None = None
    gaps: tuple[Gap, ...] = ()
    devices: dict[int | None, "Activity"] = field(default_factory=dict)


def kernel_table(gpu_ops: pl.DataFrame) -> pl.DataFrame:
    """Return one row a kernel name (and graph traced as one unit), the longest in total first.

    Columns: name, count, total_ns, median_ns (float), min_ns, max_ns, share (of the summed kernel
    time), grid, block and registers of the commonest launch shape, shapes (how many there are).
    """
    columns = ("kind", "name", "duration_ns", "grid", "block", "registers")
    kernels = gpu_ops.select(columns).filter(pl.col("kind").is_in(["kernel", "graph"]))
    duration = pl.col("duration_ns")
    times = kernels.group_by("name").agg(
        duration.len().cast(pl.Int64).alias("count"),
        duration.sum().alias("total_ns"),
        duration.median().alias("median_ns"),
        duration.min().alias("min_ns"),
        duration.max().alias("max_ns"),
    )
    share = pl.col("total_ns") / pl.col("total_ns").sum()
    return (
        times.with_columns(share.fill_nan(None).alias("share"))
        .join(_commonest_shapes(kernels), on="name", how="left", nulls_equal=True)
        .with_columns(pl.col("name", "grid", "block").cast(pl.String))
        .sort("total_ns", "name", descending=[True, False])
    )


def _commonest_shapes(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return name, grid, block, registers, shapes: the launch shape that most launches had."""
    launches = kernels.group_by("name", "grid", "block").agg(
        pl.col("registers").first(), pl.len().alias("launches")
    )
    by_frequency = launches.with_columns(pl.col("grid", "block").cast(pl.String)).sort(
        "launches", "grid", "block", descending=[True, False, False]
    )
    return by_frequency.group_by("name", maintain_order=True).agg(
        pl.col("grid", "block", "registers").first(), pl.len().cast(pl.Int64).alias("shapes")
    )


def copy_table(gpu_ops: pl.DataFrame) -> pl.DataFrame:
    """Return copies as harness.analysis.copies.table does, and memsets: a ``copy_kind`` of theirs.

    Of memsets, ``memory`` and ``alone_ns`` are null: they use no bus and run as a kernel does.
    """
    memsets = (
        gpu_ops.filter(pl.col("kind") == "memset")
        .group_by("device")
        .agg(
            pl.lit("memset").alias("copy_kind"),
            pl.len().cast(pl.Int64).alias("count"),
            _sum("bytes").alias("bytes"),
            _sum("duration_ns").alias("total_ns"),
        )
    )
    return pl.concat([copies.table(gpu_ops), memsets], how="diagonal").sort(
        "total_ns", "device", "copy_kind", descending=[True, False, False], nulls_last=True
    )


def range_table(ranges: pl.DataFrame) -> pl.DataFrame:
    """Return name, count, total_ns, median_ns, unfinished (ranges that never ended, untimed)."""
    duration = pl.col("duration_ns")
    return (
        ranges.group_by("name")
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            _sum("duration_ns").alias("total_ns"),
            duration.median().alias("median_ns"),
            duration.null_count().cast(pl.Int64).alias("unfinished"),
        )
        .with_columns(pl.col("name").cast(pl.String))
        .sort("total_ns", "name", descending=[True, False], nulls_last=True)
    )


def activity(gpu_ops: pl.DataFrame) -> Activity:
    """Return the activity of the GPU over the whole capture, and of each device."""
    timed = gpu_ops.select("device", "start_ns", "duration_ns", "name").drop_nulls(
        ["start_ns", "duration_ns"]
    )
    whole = _activity(timed)
    numbers = timed["device"].unique().sort(nulls_last=True).to_list()
    if len(numbers) == 1:
        return replace(whole, devices={numbers[0]: whole})
    parts = {
        number: _activity(timed.filter(pl.col("device").eq_missing(number))) for number in numbers
    }
    overlaps = [part.overlap_ns for part in parts.values() if part.overlap_ns is not None]
    return replace(whole, devices=parts, overlap_ns=sum(overlaps) if overlaps else None)


def _activity(timed: pl.DataFrame) -> Activity:
    """Return the activity of operations without regard to their device."""
    if timed.is_empty():
        return Activity()
    end = pl.col("start_ns") + pl.col("duration_ns")
    ops = intervals.ordered(timed, "start_ns").select("start_ns", "name", end_ns=end)
    ops = ops.with_columns(reach_ns=pl.col("end_ns").cum_max().shift(1))
    # What an interval shares with any earlier one ends where it ends or the farthest of them does.
    shared = ops.select("start_ns", end_ns=pl.min_horizontal("end_ns", "reach_ns")).slice(1)
    shared = shared.filter(pl.col("end_ns") > pl.col("start_ns"))
    span = int(ops["end_ns"].max() - ops["start_ns"][0])
    busy, overlap = (intervals.covered(rows) for rows in (ops, shared))
    return Activity(timed.height, span, busy, span - busy, overlap, _longest_gaps(ops))


def _longest_gaps(ops: pl.DataFrame) -> tuple[Gap, ...]:
    """Return the longest times between sorted operations that no earlier one reaches into."""
    idle = (pl.col("start_ns") - pl.col("reach_ns")).alias("idle_ns")
    gaps = (
        ops.lazy()
        .select("name", "start_ns", "reach_ns", idle)
        .filter(pl.col("idle_ns") > 0)
        .top_k(GAPS_KEPT, by=["idle_ns", "start_ns"], reverse=[False, True])
        .sort("idle_ns", "start_ns", descending=[True, False])
        .collect()
    )
    return tuple(
        Gap(
            start_ns=gap["reach_ns"],
            duration_ns=gap["idle_ns"],
            before=str(ops.filter(pl.col("end_ns") == gap["reach_ns"])["name"][0]),
            after=str(gap["name"]),
        )
        for gap in gaps.iter_rows(named=True)
    )


def steps(ranges: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return step (0, 1, … by start), thread, start_ns, end_ns of the finished ranges of a name.

    Ranges of that name which nest or overlap on one thread are one step.
    """
    start, end = pl.col("start_ns"), pl.col("end_ns")
    finished = (
        ranges.filter(pl.col("name") == name)
        .drop_nulls(["start_ns", "duration_ns", "thread"])
        .select("thread", start, (start + pl.col("duration_ns")).alias("end_ns"))
        .sort("thread", "start_ns")
    )
    apart = (start >= end.cum_max().shift(1).over("thread")).fill_null(value=True)
    return (
        finished.with_columns(apart.cum_sum().alias("group"))
        .group_by("thread", "group")
        .agg(start.min(), end.max())
        .sort("start_ns", "thread")
        .drop("group")
        .with_row_index("step")
        .cast({"step": pl.Int64})
    )


def gpu_ops_in_ranges(gpu_ops: pl.DataFrame, host: Tables, name: str) -> pl.DataFrame:
    """Return the rows of ``gpu_ops`` that were launched inside ranges of ``name``, with ``step``.

    An operation belongs to the step for which the host call of the same correlation id was made
    while the range was open: see :mod:`harness.analysis.launches`. When it ran on the GPU does not
    matter: that is often after the range. ``host`` holds api_calls, ranges and autograd_threads.
    """
    launched = _owners(host, name).calls
    return gpu_ops.join(launched, on="correlation", how="inner", maintain_order="left")


def doubtful_steps(host: Tables, name: str) -> tuple[int, ...]:
    """Return the steps of which :func:`gpu_ops_in_ranges` may miss operations."""
    return _owners(host, name).doubtful


def _owners(host: Tables, name: str) -> launches.Owners:
    steps_ = steps(host["ranges"], name)
    return launches.owners(host["api_calls"], steps_, host["autograd_threads"])


def step_activity(gpu_ops: pl.DataFrame, host: Tables, name: str) -> pl.DataFrame:
    """Return one row a step of ``name``: step, host_ns, kernels, graphs, busy_ns.

    ``host_ns`` is how long the range was open, ``busy_ns`` the union of the intervals of the GPU
    operations launched in it, ``kernels`` and ``graphs`` their numbers, 0 where there were none and
    null where that is in doubt.
    """
    start, end = pl.col("start_ns"), pl.col("end_ns")
    owners = _owners(host, name)
    launched = gpu_ops.join(owners.calls, on="correlation", how="inner", maintain_order="left")
    numbers = launched.group_by("step").agg(
        (pl.col("kind") == "kernel").sum().cast(pl.Int64).alias("kernels"),
        (pl.col("kind") == "graph").sum().cast(pl.Int64).alias("graphs"),
    )
    ended = launched.with_columns((start + pl.col("duration_ns")).alias("end_ns"))
    stretches = intervals.union(ended, by="step")
    busy = stretches.group_by("step").agg((end - start).sum().alias("busy_ns"))
    is_sure = ~pl.col("step").is_in(list(owners.doubtful))
    return (
        steps(host["ranges"], name)
        .select("step", (end - start).alias("host_ns"))
        .join(numbers, on="step", how="left", maintain_order="left")
        .join(busy, on="step", how="left", maintain_order="left")
        .with_columns(pl.when(is_sure).then(pl.col("kernels", "graphs", "busy_ns").fill_null(0)))
    )


def _sum(column: str) -> pl.Expr:
    """Return the sum of a column's values, null where there is none."""
    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum())
