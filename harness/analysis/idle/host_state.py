"""Where the host was while a device was idle, and how far ahead of the device it was.

Pure functions of one capture's ``gpu_ops`` and ``api_calls``. Idle time ends with an operation; the
host thread that launched it (the call of the same correlation id) is what the device waited for.
Until that call ended the thread was in some call, or outside CUDA between calls; from then on the
operation was launched and had not started.
"""

import polars as pl

from harness.analysis import copies, intervals

IN_CALL, OUTSIDE, LAUNCHED, UNKNOWN = "in a call", "outside CUDA", "launched", "unknown"
WAITING = "waiting"
"""States of the host: in a named call; in none; done with the launch; no launching call known;
outside CUDA, in a call of the operating system that waits."""
PAGES = "pages"
"""No call launches what comes next: pages of managed memory move when they are touched."""

_STATE = pl.Enum([IN_CALL, OUTSIDE, WAITING, LAUNCHED, UNKNOWN, PAGES])
_NO_CALL = pl.lit(None, pl.Categorical).alias("call")
_NOT_BETWEEN = pl.lit(None, pl.Int64).alias("between_ns")


def idle_gaps(gpu_ops: pl.DataFrame) -> pl.DataFrame:
    """Return the times in which a device ran nothing, between its first and its last operation.

    Columns: gap (0, 1, …), device, start_ns, end_ns; after: the row number in gpu_ops of an
    operation that ended at start_ns; before: of an operation that started at end_ns.
    """
    end = pl.col("start_ns") + pl.col("duration_ns")
    rows = (
        gpu_ops.with_row_index("row")
        .drop_nulls(["start_ns", "duration_ns"])
        .select(pl.col("row").cast(pl.Int64), "device", "start_ns", end_ns=end)
    )
    rows = intervals.ordered(rows, "device", "start_ns", "end_ns")
    reach = pl.col("end_ns").cum_max().over("device")
    last = pl.when(pl.col("end_ns") == reach).then(pl.col("row")).forward_fill().over("device")
    rows = rows.with_columns(reach=reach, last=last).with_columns(
        pl.col("reach", "last").shift(1).over("device")
    )
    gaps = rows.filter(pl.col("start_ns") > pl.col("reach")).select(
        "device", start_ns="reach", end_ns="start_ns", after="last", before="row"
    )
    return gaps.with_row_index("gap").cast({"gap": pl.Int64})


def outermost(api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that no other call of their thread encloses: thread, name, start_ns, end_ns.

    They are sorted by thread and start; between_ns is the time that the thread spent outside of
    calls before each, null for its first.
    """
    start, end = pl.col("start_ns"), pl.col("end_ns")
    calls = (
        api_calls.drop_nulls(["start_ns", "duration_ns", "thread"])
        .select("thread", "name", start, (start + pl.col("duration_ns")).alias("end_ns"))
        .sort("thread", "start_ns", "end_ns", descending=[False, False, True])
    )
    reach = end.cum_max().shift(1).over("thread")
    calls = calls.filter((start >= reach).fill_null(value=True))
    return calls.with_columns(between_ns=start - end.shift(1).over("thread"))


def launches(gpu_ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the call that launched each operation: row (in gpu_ops), thread, call_start, call_end.

    An operation whose call is not in the capture has no row.
    """
    rows = gpu_ops.with_row_index("row").select(pl.col("row").cast(pl.Int64), "correlation")
    timed = api_calls.drop_nulls(["duration_ns", "thread"])
    calls = by_correlation(timed.join(rows, on="correlation", how="semi")).drop("call")
    joined = rows.join(calls, on="correlation", how="inner", maintain_order="left")
    return joined.drop("correlation")


def by_correlation(api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the call of each correlation: correlation, thread, call, call_start, call_end."""
    start = pl.col("start_ns")
    calls = api_calls.drop_nulls(["correlation", "start_ns"]).select(
        *("correlation", "thread"),
        call="name",
        call_start=start,
        call_end=start + pl.col("duration_ns"),
    )
    calls = intervals.ordered(calls, "correlation", "call_start")
    # Of calls within calls, the first is the outermost.
    first = (pl.col("correlation") != pl.col("correlation").shift(1)).fill_null(value=True)
    return calls.filter(first)


def idle_pieces(gpu_ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the idle time of each device, cut where the launching thread's state changed.

    Columns: gap, start_ns, end_ns, state, call (the outermost call's name, null outside);
    between_ns: of a piece outside CUDA, the whole time between the two calls around it (null before
    a thread's first call); device, thread and, as of idle_gaps, after and before. The pieces of a
    gap sum to it.
    """
    gaps = idle_gaps(gpu_ops).join(
        launches(gpu_ops, api_calls),
        left_on="before",
        right_on="row",
        how="left",
        maintain_order="left",
    )
    moves = pl.col("before").is_in(copies.of_managed_pages(gpu_ops).implode())
    state = pl.when(moves).then(_state(PAGES)).otherwise(_state(UNKNOWN)).alias("state")
    unknown = gaps.filter(pl.col("thread").is_null()).select(
        "gap", "start_ns", "end_ns", state, _NO_CALL, _NOT_BETWEEN
    )
    threaded = gaps.filter(pl.col("thread").is_not_null())
    launched = threaded.select(
        "gap",
        pl.max_horizontal("start_ns", "call_end").alias("start_ns"),
        "end_ns",
        _state(LAUNCHED),
        _NO_CALL,
        _NOT_BETWEEN,
    )
    until = pl.min_horizontal("end_ns", "call_end").alias("end_ns")
    host = threaded.select("gap", "thread", "start_ns", until)
    host = host.filter(pl.col("end_ns") > pl.col("start_ns"))
    parts = pl.concat([unknown, launched, *_host_pieces(host, outermost(api_calls))])
    pieces = parts.filter(pl.col("end_ns") > pl.col("start_ns"))
    pieces = intervals.ordered(pieces, "gap", "start_ns")
    return pieces.hstack(gaps.select("device", "thread", "after", "before")[pieces["gap"]])


def _state(name: str) -> pl.Expr:
    return pl.lit(name, _STATE).alias("state")


def _host_pieces(host: pl.DataFrame, calls: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the parts of gaps in calls and outside, some of them empty, without the thread."""
    rows = _touched(host, calls).select(
        "gap",
        pl.max_horizontal("start_ns", "call_start").alias("start_ns"),
        pl.min_horizontal("end_ns", "call_end").alias("end_ns"),
        "call",
        "between_ns",
        begin="start_ns",
    )
    rows = rows.filter(pl.col("end_ns") >= pl.col("start_ns"))
    same = pl.col("gap") == pl.col("gap").shift(1)
    last = pl.when(same).then(pl.col("end_ns").shift(1)).otherwise(pl.col("begin"))
    outside = rows.select(
        "gap",
        last.alias("start_ns"),
        pl.col("start_ns").alias("end_ns"),
        _state(OUTSIDE),
        _NO_CALL,
        "between_ns",
    )
    inside = rows.select(
        "gap",
        "start_ns",
        "end_ns",
        _state(IN_CALL),
        "call",
        _NOT_BETWEEN,
    )
    return inside, outside


def _touched(host: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return each gap with each call of its thread that it may overlap, by gap: one row a pair.

    The last row of a gap is its end, which has the next call's between_ns: where an operation
    starts before its own launch, its gap ends between two calls.
    """
    numbered = calls.with_row_index("at").cast({"at": pl.Int64})
    first = numbered.group_by("thread").agg(pl.col("at").min().alias("first"))
    starts = numbered.select("thread", "at", at_ns="start_ns")
    starts = intervals.ordered(starts, "at_ns")

    def last_before(column: str, name: str) -> pl.DataFrame:
        return (
            intervals.ordered(host.select("gap", "thread", at_ns=column), "at_ns")
            .join_asof(starts, on="at_ns", by="thread", check_sortedness=False)
            .select("gap", pl.col("at").alias(name))
        )

    low, high = pl.coalesce("low", "first"), pl.coalesce("high", pl.col("first") - 1)
    pairs = (
        host.join(last_before("start_ns", "low"), on="gap", maintain_order="left")
        .join(last_before("end_ns", "high"), on="gap", maintain_order="left")
        .join(first, on="thread", how="left", maintain_order="left")
        .select("gap", "start_ns", "end_ns", last=high, at=pl.int_ranges(low, high + 2))
        .explode("at")
    )
    padded = pl.concat([calls, calls.clear(1)])  # as after the last call there is none
    next_calls = padded.select("between_ns", call="name", begin="start_ns", end="end_ns")
    is_call = pl.col("at") <= pl.col("last")
    return pairs.hstack(next_calls[pairs["at"]]).with_columns(
        call=pl.when(is_call).then("call"),
        call_start=pl.when(is_call).then("begin").otherwise("end_ns"),
        call_end=pl.when(is_call).then("end").otherwise("end_ns"),
    )


def idle_table(pieces: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """Return idle time by device, state and call: count of pieces, total_ns; the longest first.

    ``waits``, of the evidence, tell WAITING from OUTSIDE.
    """
    outside = pl.col("state") == OUTSIDE
    waiting = intervals.cut(pieces.filter(outside), waits, "thread", state=_state(WAITING))
    return (
        pl.concat([pieces.filter(~outside), waiting])
        .group_by("device", "state", "call")
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            (pl.col("end_ns") - pl.col("start_ns")).sum().alias("total_ns"),
        )
        .cast({"state": pl.String, "call": pl.String})
        .sort("total_ns", "device", "state", "call", descending=[True, False, False, False])
    )


def call_table(api_calls: pl.DataFrame, idle: pl.DataFrame) -> pl.DataFrame:
    """Return host calls by name: count, total_ns, median_ns, idle_ns; the longest in total first.

    ``idle`` is of idle_table. ``idle_ns`` is the part of total_ns in which a device was idle and
    waited for this very thread; calls within calls count in total_ns and not in idle_ns.
    """
    in_calls = idle.filter(pl.col("state") == IN_CALL)
    idle_ns = in_calls.group_by("call").agg(pl.col("total_ns").sum().alias("idle_ns"))
    duration = pl.col("duration_ns")
    return (
        api_calls.group_by("name")
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            duration.sum().alias("total_ns"),
            duration.median().alias("median_ns"),
        )
        .with_columns(pl.col("name").cast(pl.String))
        .join(idle_ns, left_on="name", right_on="call", how="left")
        .with_columns(pl.col("idle_ns").fill_null(0))
        .sort("total_ns", "name", descending=[True, False])
    )


def queue_times(gpu_ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return row, device, queued_ns: from the end of the launching call to the operation's start.

    A few µs mean that the device waited for the host; more, that the host was ahead. 0 where an
    operation started before its call returned, as a synchronous copy does.
    """
    rows = gpu_ops.with_row_index("row").cast({"row": pl.Int64})
    rows = rows.drop_nulls(["start_ns", "duration_ns"]).select("row", "device", "start_ns")
    queued = (pl.col("start_ns") - pl.col("call_end")).clip(0).alias("queued_ns")
    launched = rows.join(launches(gpu_ops, api_calls), on="row", how="inner", maintain_order="left")
    return launched.select("row", "device", queued)
