"""Evidence that several findings on timelines give: kernels, host code, the profiler's part."""

import polars as pl

from harness.analysis import intervals, trials
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Evidence
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import recording_cost

CONFIDENT, _DOUBTED = 0.9, 0.5


def running(view: TimelineView, wanted: pl.Expr) -> float:
    """Return the fraction of the devices' time in which operations that are ``wanted`` run."""
    rows = (trials.without(track.ops).filter(wanted) for track in view.tracks)
    return view.fraction(sum(intervals.length(intervals.union(each)) for each in rows))


def profilers_part(view: TimelineView, *causes: str) -> tuple[Evidence, ...]:
    """Return how much of the idle time for causes is the profiler's; nothing below SEEN.

    Where that is estimated, also the shares that remain if recording costs the most, or the least.
    """
    off = sum(track.taken_off_ns(cause) for track in view.tracks for cause in causes)
    own = sum(track.idle_ns(cause) for track in view.tracks for cause in causes)
    part = off / max(off + own, 1)
    if part < thresholds.SEEN:
        return ()
    how = "by the unprofiled step" if view.unprofiled else "estimated"
    told = view.percent(f"such time that the profiler adds, left out, {how}", part)
    if view.unprofiled:
        return (told,)
    ranges = [idle_range(view, cause) for cause in causes]
    least, most = (sum(ends) for ends in zip(*ranges, strict=True))
    return (
        told,
        view.percent("so idle, if recording costs the most that is likely", least),
        view.percent("so idle, if it costs the least", most),
    )


def may_be_recording(view: TimelineView) -> bool:
    """Return whether all idle time of the host is within the error of the profiler's part.

    Only torch's profiler, which records every operator, has a part that large.
    """
    of_torch = any(recording_cost.has_operators(track.capture) for track in view.tracks)
    idle = sum(map(view.idle, recording_cost.OF_THE_HOST))
    return of_torch and not view.unprofiled and idle < recording_cost.OF_TORCH_ERROR


def idle_range(view: TimelineView, cause: str) -> tuple[float, float]:
    """Return a cause's idle share if recording costs the most that is likely, and the least."""
    low, high = (
        sum(track.own_ns(cause, cost) for track in view.tracks)
        / sum(track.recorded_ns - track.taken_off_ns(cost=cost) for track in view.tracks)
        for cost in ("most", "least")
    )
    return low, high


def confidence(view: TimelineView, cause: str) -> float:
    """Return how sure a cause is: less so where all of it may be the profiler's."""
    return CONFIDENT if idle_range(view, cause)[0] >= thresholds.MATTERS else _DOUBTED


_GUARDS = "TorchDynamo Cache Lookup"
"""The operator in which compiled code checks its guards (torch/csrc/dynamo)."""


def guards(view: TimelineView) -> tuple[Evidence, ...]:
    """Return the part of the captures' time in which guards are checked; nothing below SEEN."""
    by_source = {track.source: track for track in view.tracks}.values()
    whole_ns = sum(track.whole_ns for track in by_source)
    operators = pl.concat([track.capture.tables["operators"] for track in by_source])
    checked_ns = int(operators.filter(pl.col("name") == _GUARDS)["total_ns"].sum())
    if not whole_ns or checked_ns < thresholds.SEEN * whole_ns:
        return ()
    return (view.percent("checks of compiled code's guards, on the host", checked_ns / whole_ns),)


def host_code_ns(view: TimelineView) -> float | None:
    """Return the median time that the host was outside CUDA where that was too long."""
    rows = pl.concat([track.idle for track in view.tracks])
    long = pl.col("between_ns") >= idle_causes.LONG_NS
    return rows.filter(pl.col("cause") == idle_causes.HOST, long)["between_ns"].median()  # type: ignore[return-value]  # integers


def kernel_evidence(view: TimelineView) -> tuple[Evidence, ...]:
    """Return the median duration of kernels and the median time from launch to start."""
    kernels = pl.concat(
        [track.ops.select("kind", "duration_ns", "queued_ns") for track in view.tracks]
    ).filter(pl.col("kind") == "kernel")
    medians = (
        ("median kernel", kernels["duration_ns"].median()),
        ("median from launch to start", kernels["queued_ns"].median()),
    )
    return tuple(
        view.number(name, float(value) / 1e3, "µs")  # type: ignore[arg-type]  # integers
        for name, value in medians
        if value is not None
    )
