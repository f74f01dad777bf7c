"""What the host's code was that a device waited for: the program's own Python frame, by its line.

torch.profiler records frames with ``with_stack=True``.
"""

import re

import polars as pl

from harness.analysis import kernels
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.idle import causes as idle_causes

_MOST = 0.5
"""Of the idle time in which the host is outside CUDA: with less in one frame, others together cost
as much or more."""

_SHORT = 60
"""Letters of a name."""

_FIXES = (
    (re.compile(r"sleep"), "take the sleep out of the loop, or wait for what it waits for"),
    (
        re.compile(r"\b(p?read|readinto|readv|recv|recv_into|recvfrom|fread|getc|open|open64)\b"),
        "read ahead, on another thread or in a loader's workers (num_workers, prefetch_factor)",
    ),
    (
        re.compile(r"\b(acquire|wait|get|join|select|poll|pthread_mutex_lock|sem_wait|futex)\b"),
        "let the thread that it waits for work ahead, or hold its lock for less time",
    ),
)
"""What removes a call that waits, by its name."""


def told(view: TimelineView) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Return the frame with at least half of the idle time of host code, and what removes it.

    Both are empty where there is no such frame, or no frames are recorded.
    """
    rows = pl.concat([_in_frames(at, track) for at, track in enumerate(view.tracks)])
    total = sum(track.idle_ns(idle_causes.HOST) for track in view.tracks)
    frame = _largest(rows, "name", total)
    if frame is None:
        return (), ()
    inside = rows.filter(pl.col("name") == frame)
    called = _largest(inside, "called", float(inside["length_ns"].sum()))
    if called is not None:
        inside = inside.filter(pl.col("called") == called)
    gaps = inside.select("track", "gap").n_unique()
    what = f"of it in {gaps:,} gaps in {kernels.cut(frame, _SHORT)}"
    what += f", in {kernels.cut(called, _SHORT)}" if called else ""
    fixes = tuple(fix for pattern, fix in _FIXES if pattern.search(called or ""))
    return (view.number(what, float(inside["length_ns"].sum()) / 1e6, "ms"),), fixes


def _in_frames(at: int, track: Track) -> pl.DataFrame:
    """Return track (``at``), gap, name, called and length_ns of idle time in frames.

    The length is without the profiler's part.
    """
    frames = track.capture.tables["frames"].drop_nulls(["start_ns", "duration_ns", "thread"])
    pieces = track.idle.filter(pl.col("cause") == idle_causes.HOST)
    frames = frames.select(
        pl.col("name", "called").cast(pl.String),
        on="thread",
        low="start_ns",
        high=pl.col("start_ns") + pl.col("duration_ns"),
    )
    both = pieces.select("gap", "thread", "start_ns", "end_ns", "cost").join_where(
        frames,
        pl.col("thread") == pl.col("on"),
        pl.col("low") < pl.col("end_ns"),
        pl.col("high") > pl.col("start_ns"),
    )
    length = pl.min_horizontal("end_ns", "high") - pl.max_horizontal("start_ns", "low")
    own = length * (1 - pl.col("cost"))
    return both.select("gap", "name", "called", length_ns=own, track=pl.lit(at))


def _largest(rows: pl.DataFrame, key: str, total: float) -> str | None:
    """Return the value of a column that has at least _MOST of a time, None if none has."""
    sums = rows.drop_nulls(key).group_by(key).agg(pl.col("length_ns").sum())
    most = sums.filter(pl.col("length_ns") >= _MOST * total).sort("length_ns", key)
    return str(most[key].last()) if most.height else None
