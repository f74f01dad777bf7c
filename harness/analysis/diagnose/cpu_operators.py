"""Operators that compute on the CPU while the device waits: which, and for how much of the time."""

import polars as pl

from harness.analysis import kernels
from harness.analysis.diagnose import host_code
from harness.analysis.diagnose.timeline_tracks import Track
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.idle import causes as idle_causes

_TITLE = "The GPU waits while operators run on the CPU."
_FIX = (
    "run these operators on the GPU: keep their tensors there, and copy what they need instead of "
    "what they make",
    "where a tensor does not fit, work ahead of the GPU on another thread or in other processes",
)
_MOST = 0.5
"""Of the idle time of host code: with less, other code costs as much or more."""
_TOLD, _ASIDE, _SHORT = 3, 0.1, 40
"""Names at most, the least part that one of them has, and its letters."""


def told(view: TimelineView) -> host_code.Reason | None:
    """Return which operators on the CPU the idle time of host code is.

    None where that is less than half of it, or operators are not recorded.
    """
    rows = host_code.in_spans(view, _spans)
    total = sum(track.idle_ns(idle_causes.HOST) for track in view.tracks)
    part = float(rows["length_ns"].sum()) / total if total else 0.0
    if part < _MOST:
        return None
    sums = rows.group_by("name").agg(pl.col("length_ns").sum() / total)
    most = sums.filter(pl.col("length_ns") >= _ASIDE).sort("length_ns", "name", descending=True)
    named = [
        view.percent(f"of it in {kernels.cut(name, _SHORT)}, on the CPU", share)
        for name, share in most.head(_TOLD).iter_rows()
    ]
    every = view.percent("of it in operators that ask nothing of the GPU", part)
    return host_code.Reason((*named, every), _FIX, _TITLE, alone=True)


def _spans(track: Track) -> pl.DataFrame:
    """Return the operators of a capture as spans of host code."""
    return track.capture.tables["cpu_operators"].select(
        pl.col("name").cast(pl.String),
        pl.lit(None, pl.String).alias("called"),
        "start_ns",
        "duration_ns",
        "thread",
    )
