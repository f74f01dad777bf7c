"""Where the warm-up of a timeline ends: what a program does only once is not what it repeats.

Warm-up is what a program does while kernels run for the first time: it loads code and reserves
memory. So it ends with the last kernel that is new within the first half of the operations, if

- the program repeats itself after that: four fifths of the names seen by then are seen again,
- the host loaded code or reserved memory until then, or a launch took over a millisecond, as it
  does when CUDA loads a kernel lazily (CUDA C++ Programming Guide, "Lazy Loading"), and
- it loads no code after that: where it goes on loading, loading is what the program repeats.

A pause that takes more than half of the capture and has less than a twentieth of the operations
before it is no part of what repeats, either: the profiler or the program was starting.
"""

import polars as pl

from harness.analysis import intervals
from harness.analysis.idle import host_calls

_REPEATED = 0.8
_FEW = 0.05
_SLOW_LAUNCH_NS = 1_000_000


def after(ops: pl.DataFrame, api_calls: pl.DataFrame) -> pl.DataFrame:
    """Return the timed operations after the warm-up, by start; all of them where there is none."""
    ordered = _after_pause(intervals.ordered(ops, "start_ns"))
    return ordered[_first_repeated(ordered, api_calls) :]


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
    later = api_calls.filter(pl.col("start_ns") > until)
    return last + 1 if _warms_up(calls) and not _loads(later) else 0


def _loads(calls: pl.DataFrame) -> bool:
    """Return whether calls load code."""
    names = calls["name"].unique().drop_nulls()
    return any(host_calls.kind(str(name)) == host_calls.LOAD for name in names)


def _warms_up(calls: pl.DataFrame) -> bool:
    """Return whether calls load code or reserve memory, or launch as slowly as if they did."""
    slow = pl.col("duration_ns").max() > _SLOW_LAUNCH_NS
    names = calls.group_by(pl.col("name").cast(pl.String)).agg(slow.alias("slow"))
    return any(
        kind in (host_calls.LOAD, host_calls.ALLOCATE) or (kind == host_calls.LAUNCH and slow)
        for kind, slow in ((host_calls.kind(name), slow) for name, slow in names.iter_rows())
    )
