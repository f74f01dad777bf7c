"""Launches that wait for the lock of Python's interpreter (GIL), which another thread holds.

A thread that wants the lock asks for it after the switch interval, 5 ms by default
(docs.python.org, sys.setswitchinterval); one that runs Python without a pause gives it up only
then. So each wait is a little longer than that, or than a multiple of it, wherever the launching
thread had let the lock go: no code of its own takes such times.
"""

import polars as pl

from harness.analysis.diagnose import host_code
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_state

_TITLE = "The GPU waits while another Python thread holds the interpreter's lock (GIL)."
_FIX = (
    "run that thread's work in a process of its own (multiprocessing, a DataLoader's workers), or "
    "in native code that releases the lock",
    "until then, shorten its turns (sys.setswitchinterval)",
)
_INTERVAL_NS = 5_000_000
_REGAINED_NS = 1_000_000
"""After the interval the other thread has to come to its next bytecode, and the kernel to wake us:
in a program that computes in Python beside its launches 0.2 to 0.5 ms (H200's host)."""
_LONG_NS = 1_000_000
"""Shorter code is the launching thread's own."""
_LEAST = 20
"""Fewer stretches may be of one length by chance."""


def told(view: TimelineView) -> host_code.Reason | None:
    """Return how long the host's stretches outside CUDA are, if the lock explains them.

    None unless next to no long stretch is shorter than the interval, and half of them
    are little longer.
    """
    rows = pl.concat([track.idle for track in view.tracks])
    long = rows.filter(
        pl.col("cause") == idle_causes.HOST,
        pl.col("state") == host_state.OUTSIDE,
        pl.col("between_ns") >= _LONG_NS,
    )["between_ns"]
    if len(long) < _LEAST:
        return None
    shortest, middle = (float(long.quantile(part) or 0) for part in (0.05, 0.5))
    if shortest < _INTERVAL_NS or middle > _INTERVAL_NS + _REGAINED_NS:
        return None
    evidence = (
        view.number("stretches of host code beyond the switch interval of 5 ms", len(long)),
        view.number("their median", middle / 1e6, "ms"),
    )
    return host_code.Reason(evidence, _FIX, _TITLE, alone=True)
