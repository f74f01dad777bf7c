"""The device waits for the next batch of input.

It shows as idle time while the launching thread is in a range whose name says that it loads data,
such as ``enumerate(DataLoader)#…`` (harness.analysis.idle_causes, DATA). Without such a range it is
host code like any other: host-bound.
"""

from collections.abc import Iterator

from harness.analysis import idle_causes
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, Kind
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = Kind(
    "data-starved",
    "timeline",
    "The GPU waits for the data loader.",
    fix=(
        "load in more worker processes, with prefetching (num_workers, prefetch_factor)",
        "prepare data ahead of time, or on the GPU",
        "keep workers between epochs (persistent_workers=True)",
    ),
    broader="host-bound",
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the idle time in ranges of data loading."""
    share, gaps = view.idle(idle_causes.DATA), view.count(idle_causes.DATA)
    if not view.repeats(idle_causes.DATA):
        return
    evidence = (
        view.percent("idle while data is loaded", share, thresholds.MATTERS),
        view.number("gaps with data loading", gaps, "", thresholds.REPEATED),
        view.percent("time in which the GPU computes", view.compute),
    )
    yield KIND.finding(view.where, evidence, share=share, gain=share, confidence=0.95)
