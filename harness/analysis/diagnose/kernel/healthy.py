"""Said of a launch that a part of the GPU limits, with no work wasted; how near to its ceiling.

Or of a launch whose schedulers always have warps that are ready, so that the dispatch of
instructions limits: it reads registers from two banks, and the counters of no pipe show it.
Only where the report could have shown every cause: otherwise it abstains.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import HEALTHY, Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import lacking, residual, resources, shape, warps

KIND = FindingKind(
    HEALTHY, "SM", "A part of the GPU limits the launch, and none of its work is wasted."
)
_NEXT = "capture the program's timeline with nsys: can this launch be fused, or left out?"


def found(view: KernelView) -> Iterator[Finding]:
    """Yield how near to its ceiling the busiest part is."""
    top = view.top
    if top is None or not lacking.complete(view):
        return
    if top.use < thresholds.AT_CEILING:
        yield from _dispatching(view)
        return
    number = view.evidence(
        f"{top.name}, of its ceiling", top.use * 100, thresholds.AT_CEILING * 100
    )
    confidence = min(1.0, 0.2 + top.use)
    yield view.finding(KIND, 0.0, number, share=1.0, confidence=confidence, capture_next=(_NEXT,))


def _dispatching(view: KernelView) -> Iterator[Finding]:
    ready = warps.ready(view)
    if ready is None or not residual.never_idle(view) or shape.brief(view):
        return
    issued = view.use(resources.ISSUE)
    if issued < thresholds.WAITS:
        return
    yield view.finding(
        KIND,
        0.0,
        view.evidence("ready warps of a scheduler", ready, thresholds.READY, "warp"),
        view.evidence("issue slots", issued * 100, thresholds.WAITS * 100),
        share=1.0,
        confidence=0.6,
        capture_next=(_NEXT,),
    )
