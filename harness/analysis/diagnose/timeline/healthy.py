"""Said of a timeline whose devices compute for BUSY of the time, and that no cause costs enough.

The few hundred ns between two queued kernels count as computing: nothing on the timeline removes
them but fewer kernels. So do copies before the first and after the last kernel of a measured step,
as they have no kernel to hide behind.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import HEALTHY, Finding, FindingKind
from harness.analysis.diagnose.timeline import stream_serialised
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.idle import causes as idle_causes

KIND = FindingKind(
    HEALTHY,
    "timeline",
    "The GPU computes nearly all the time; a further gain has to come from its kernels.",
)
_NEXT = "harness diagnose on an Nsight Compute report of the kernels that take the most time"


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield it if kernels and the moments between them fill enough of the time."""
    full = view.compute + view.idle(idle_causes.BOUNDARY) + view.outer_copies
    few = view.operations < thresholds.LEAST_OPERATIONS * view.unmarked
    if few or full < thresholds.BUSY or stream_serialised.undecided(view) >= thresholds.MATTERS:
        return
    evidence = (
        view.percent("time in which kernels run", view.compute, thresholds.BUSY),
        view.percent("between queued kernels", view.idle(idle_causes.BOUNDARY)),
    )
    yield KIND.finding(
        view.where, evidence, share=0.0, gain=0.0, confidence=0.95, capture_next=(_NEXT,)
    )
