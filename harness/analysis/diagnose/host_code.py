"""What the host's code was that a device waited for: a line of the program's, or a system's call.

torch.profiler records the frames of Python with ``with_stack=True``; nsys the calls into the
operating system that wait. Those within a call into CUDA are the driver's, and do not count.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from harness.analysis import intervals, kernels
from harness.analysis.diagnose import idle_places
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_torch
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_state

_SHORT = 60
"""Letters of a name."""

_FIXES = (
    (re.compile(r"sleep"), "take the sleep out of the loop, or wait for what it waits for"),
    (
        re.compile(r"\b(p?read(64|v|into)?|recv\w*|fread|f?getc|f?gets|getline|f?open(at|64)?)\b"),
        "read ahead, on another thread or in a loader's workers"
        + for_torch(" (num_workers, prefetch_factor)"),
    ),
    (
        re.compile(r"\b(acquire|get|join|select|poll|flock|futex|pthread_\w+|(\w+_)?\w*wait)\b"),
        "let the thread that it waits for work ahead, or hold its lock for less time",
    ),
)
"""What removes a call that waits, by its name."""


@dataclass(frozen=True)
class Reason:
    """What the host's code was that a device waited for: numbers, what removes it, a sentence.

    ``alone``: what helps any host-bound program does not help this one. ``sure``: no sample of the
    host's stacks would say more.
    """

    evidence: tuple[Evidence, ...]
    fix: tuple[str, ...]
    title: str = ""
    alone: bool = False
    sure: bool = True


def told(view: TimelineView) -> Reason | None:
    """Return what at least half of the idle time of host code was.

    It is a frame with what it called, else a call into the operating system. None where no such one
    has half of that time, or nothing of the kind is recorded.
    """
    rows = in_spans(view, _spans)
    total = sum(track.idle_ns(idle_causes.HOST) for track in view.tracks)
    frame = idle_places.largest(rows, "name", total)
    if frame is None:
        return None
    inside = rows.filter(pl.col("name") == frame)
    called = idle_places.largest(inside, "called", float(inside["length_ns"].sum()))
    if called is not None:
        inside = inside.filter(pl.col("called") == called)
    gaps = inside.select("track", "gap").n_unique()
    names = [kernels.cut(each, _SHORT) for each in dict.fromkeys((frame, called)) if each]
    what = f"of it in {gaps:,} gaps in {', in '.join(names)}"
    ms = float(inside["length_ns"].sum()) / 1e6
    return Reason((view.number(what, ms, "ms"),), fixes_of(called))


def has_frames(view: TimelineView) -> bool:
    """Return whether Python's frames were recorded, so that no sample of stacks says more."""
    return any(track.capture.tables["frames"].height for track in view.tracks)


def fixes_of(called: str | None) -> tuple[str, ...]:
    """Return what removes a call that waits, by its name; nothing for any other."""
    return tuple(fix for pattern, fix in _FIXES if pattern.search(called or ""))[:1]


def meanwhile(view: TimelineView) -> Iterator[Evidence]:
    """Yield what another thread waited for while those that launch waited for input.

    It is a wait of its own that ends as theirs does: by then it lets them go on. Nothing where that
    is less than half of their time.
    """
    by_source = {track.source: track for track in view.tracks}
    rows = pl.concat([_released(track) for track in by_source.values()])
    total = float(view.waits()["duration_ns"].sum())
    name = idle_places.largest(rows, "name", total) if total else None
    if name is not None:
        ns = float(rows.filter(pl.col("name") == name)["length_ns"].sum())
        yield view.number(f"of it until another thread's {name} ends", ns / 1e6, "ms")


def _released(track: Track) -> pl.DataFrame:
    """Return name and length_ns of other threads' waits that end as one for input does."""
    end = pl.col("start_ns") + pl.col("duration_ns")
    ours = track.waits_of_launching.select(began="start_ns", until=end)
    launching = track.waits_of_launching["thread"].unique()
    others = (
        track.capture.tables["waits"]
        .drop_nulls()
        .filter(~pl.col("thread").is_in(launching.implode()))
    )
    both = (
        others.select(pl.col("name").cast(pl.String), low="start_ns", high=end)
        .sort("high")
        .join_asof(
            ours.sort("until"),
            left_on="high",
            right_on="until",
            strategy="forward",
            tolerance=idle_causes.RELAUNCH_NS - 1,
            coalesce=False,
        )
        .filter(pl.col("high") > pl.col("began"))
    )
    length = pl.col("high") - pl.max_horizontal("low", "began")
    longest = length.max()  # several threads may wait beside one
    return both.group_by("name", "began").agg(length_ns=longest)


def _spans(track: Track) -> pl.DataFrame:
    """Return the frames of Python and the waits of a capture: name, called, and their times."""
    tables, timed = track.capture.tables, ["start_ns", "duration_ns", "thread"]
    frames = tables["frames"].select(pl.col("name", "called").cast(pl.String), *timed)
    call = pl.col("name").cast(pl.String) + "()"
    return pl.concat([frames, tables["waits"].select(call, call.alias("called"), *timed)])


def in_spans(view: TimelineView, spans_of: Callable[[Track], pl.DataFrame]) -> pl.DataFrame:
    """Return track (its number), gap, name, called and length_ns of idle host code in spans.

    ``spans_of`` a track are name, called, start_ns, duration_ns and thread. The length is without
    the profiler's part.
    """
    return pl.concat(
        [_in_spans(at, track, spans_of(track)) for at, track in enumerate(view.tracks)]
    )


def _in_spans(at: int, track: Track, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of one track, whose number is ``at``."""
    spans = spans.drop_nulls(["start_ns", "duration_ns", "thread"]).select(
        "name",
        "called",
        "thread",
        low="start_ns",
        high=pl.col("start_ns") + pl.col("duration_ns"),
    )
    pieces = track.idle.filter(
        pl.col("cause") == idle_causes.HOST, pl.col("state") == host_state.OUTSIDE
    )
    pieces = pieces.select("gap", "thread", "start_ns", "end_ns", "cost")
    both = intervals.overlapping(pieces, _outer(spans), "thread")
    length = pl.min_horizontal("end_ns", "high") - pl.max_horizontal("start_ns", "low")
    own = length * (1 - pl.col("cost"))
    return both.select("gap", "name", "called", length_ns=own, track=pl.lit(at))


def _outer(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the spans (thread, low, high) that no other of their thread reaches to the end of."""
    spans = spans.sort("thread", "low", "high", descending=[False, False, True])
    reached = pl.col("high").cum_max().shift(1).over("thread")
    return spans.filter(reached.is_null() | (pl.col("high") > reached)).with_columns(
        low=pl.max_horizontal("low", reached)
    )
