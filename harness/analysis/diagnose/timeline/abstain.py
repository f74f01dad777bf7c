"""Said of a timeline that is neither healthy nor explained, with what to record instead.

Idle time whose launching calls are missing cannot be explained; operations that were queued and
waited point at what the capture does not hold; causes that appear once are no steady state.
"""

from collections.abc import Iterator

from harness.analysis import copies, idle_causes
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import ABSTAIN, Finding, Kind
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = Kind(
    ABSTAIN, "timeline", "The GPU does not compute all the time, and the capture does not say why."
)
_MEMORY = "memory"
_NEXT = {
    idle_causes.UNKNOWN: "capture host calls, too: nsys --trace=cuda,nvtx, or ProfilerActivity.CPU",
    _MEMORY: "capture the memory kinds of copies: export all columns, of a current profiler",
    idle_causes.QUEUED: "capture what the launched work waited for: all streams, devices and ranks",
}
_STEADY = "capture several steps after the warm-up, each in a range of its own"


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time that no finding can explain, and the capture that would explain the most."""
    rows = view.large_copies((copies.UNKNOWN,))
    unknown = {
        idle_causes.UNKNOWN: view.idle(idle_causes.UNKNOWN),
        idle_causes.QUEUED: view.idle(idle_causes.QUEUED),
        _MEMORY: view.fraction(sum(track.alone_ns(part) for track, part in rows)),
    }
    advice = [
        _NEXT[cause]
        for cause in sorted(_NEXT, key=lambda cause: -unknown[cause])
        if unknown[cause] >= thresholds.MATTERS
    ]
    evidence = (
        view.percent("time in which kernels run", view.compute, thresholds.BUSY),
        view.percent("idle, launching call not recorded", unknown[idle_causes.UNKNOWN]),
        view.percent("idle, launched work waited for something", unknown[idle_causes.QUEUED]),
        view.percent("copies of unknown host memory", unknown[_MEMORY]),
    )
    yield KIND.finding(
        view.where,
        evidence,
        share=view.unexplained + unknown[_MEMORY],
        confidence=0.0,
        capture_next=(*advice, _STEADY),
    )
