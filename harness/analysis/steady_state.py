"""The part of a timeline that repeats: what a diagnosis is about, without the warm-up before it.

A measured step of this project (``step:`` ranges) is its operations from the first start to the
last end: the host waits for the device between such steps, and that wait is the recording's. Any
other capture counts from where its warm-up ends. Warm-up is what a program does only once, while
kernels run for the first time: it loads code and reserves memory. So it ends with the last kernel
that is new within the first half of the operations, if

- the program repeats itself after that: four fifths of the names seen by then are seen again, and
- the host loaded code or reserved memory until then, or a launch took over a millisecond, as it
  does when CUDA loads a kernel lazily (CUDA C++ Programming Guide, "Lazy Loading").

A pause that takes more than half of the capture and has less than a twentieth of the operations
before it is no part of what repeats, either: the profiler or the program was starting.
"""

import polars as pl

from harness.analysis import intervals
from harness.analysis.idle import host_calls
from harness.analysis.timeline import gpu_ops_in_ranges
from harness.evidence.tables import Tables

STEP = "step:"
"""The prefix of the names of the probe's ranges around measured steps."""

_REPEATED = 0.8
_FEW = 0.05
_SLOW_LAUNCH_NS = 1_000_000


def windows(tables: Tables) -> pl.DataFrame:
    """Return the stretches that count: start_ns and end_ns, by start; none without GPU operations.

    ``tables`` needs gpu_ops, api_calls, ranges and autograd_threads.
    """
    ops = tables["gpu_ops"].drop_nulls(["start_ns", "duration_ns"])
    if ops.is_empty():
        return pl.DataFrame(schema={"start_ns": pl.Int64, "end_ns": pl.Int64})
    return _steps(ops, tables) if _marked(tables["ranges"]) else _after_warm_up(ops, tables)


def is_marked(tables: Tables) -> bool:
    """Return whether a capture holds measured steps, each of which starts on an idle device."""
    return bool(_marked(tables["ranges"]))


def _marked(ranges: pl.DataFrame) -> list[str]:
    names = ranges["name"].drop_nulls().unique().cast(pl.String)
    return sorted(name for name in names if name.startswith(STEP))


def _steps(ops: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """Return each measured step from its first operation to the end of its last one."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    parts = [
        gpu_ops_in_ranges(ops, tables, name)
        .group_by("step")
        .agg(pl.col("start_ns").min(), end_ns=end.max())
        .select("start_ns", "end_ns")
        for name in _marked(tables["ranges"])
    ]
    found = pl.concat(parts).sort("start_ns")
    return found if found.height else _after_warm_up(ops, tables)


def _after_warm_up(ops: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    timed = intervals.ordered(ops.select("name", "start_ns", "duration_ns"), "start_ns")
    ordered = _after_pause(timed)
    ordered = ordered[_first_repeated(ordered, tables["api_calls"]) :]
    end = pl.col("start_ns") + pl.col("duration_ns")
    return ordered.select(pl.col("start_ns").first(), end_ns=end.max())


def _after_pause(ordered: pl.DataFrame) -> pl.DataFrame:
    """Return the operations without the few before a pause that outlasts all else."""
    end = (pl.col("start_ns") + pl.col("duration_ns")).cum_max()
    pauses = ordered.select(pl.col("start_ns") - end.shift(1)).to_series()
    span = ordered.select(end.last() - pl.col("start_ns").first()).item()
    longest = pauses.arg_max()
    if longest is None or pauses[longest] * 2 <= span or longest > ordered.height * _FEW:
        return ordered
    return ordered[longest:]


def _first_repeated(ordered: pl.DataFrame, api_calls: pl.DataFrame) -> int:
    """Return the place of the first operation after the warm-up, 0 where there is none."""
    new = ordered.select(pl.col("name").is_first_distinct()).to_series()
    places = new.head(ordered.height // 2).arg_true()
    last = int(places[-1]) if len(places) else 0
    if not last:
        return 0
    before, after = ordered[: last + 1], ordered[last + 1 :]
    names = before["name"].unique()
    if names.is_in(after["name"].unique().implode()).mean() < _REPEATED:  # type: ignore[operator]
        return 0
    until = ordered["start_ns"][last]
    calls = api_calls.filter(pl.col("start_ns").is_between(ordered["start_ns"][0], until))
    return last + 1 if _warms_up(calls) else 0


def _warms_up(calls: pl.DataFrame) -> bool:
    """Return whether calls load code or reserve memory, or launch as slowly as if they did."""
    slow = pl.col("duration_ns").max() > _SLOW_LAUNCH_NS
    names = calls.group_by(pl.col("name").cast(pl.String)).agg(slow.alias("slow"))
    return any(
        kind in (host_calls.LOAD, host_calls.ALLOCATE) or (kind == host_calls.LAUNCH and slow)
        for kind, slow in ((host_calls.kind(name), slow) for name, slow in names.iter_rows())
    )


def inside(rows: pl.DataFrame, stretches: pl.DataFrame) -> pl.DataFrame:
    """Return the rows (start_ns) that start in one of the sorted, disjoint stretches."""
    begun = stretches["start_ns"].search_sorted(rows["start_ns"], side="right")
    none = pl.Series([None], dtype=pl.Int64)
    until = pl.concat([none, stretches["end_ns"]]).gather(begun)
    within = rows["start_ns"] < until
    return rows if within.all(ignore_nulls=False) else rows.filter(within)


def spans(ops: pl.DataFrame, stretches: pl.DataFrame) -> pl.DataFrame:
    """Return what operations span of each stretch: start_ns and end_ns, by start."""
    ended = ops.select("start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    placed = intervals.ordered(ended, "start_ns").join_asof(
        stretches.select("start_ns", stretch="start_ns"), on="start_ns", check_sortedness=False
    )
    found = placed.group_by("stretch").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    return found.select("start_ns", "end_ns").sort("start_ns")
