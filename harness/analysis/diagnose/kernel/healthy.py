"""Said of a launch that a part of the GPU limits, with no work wasted; how near to its ceiling.

Only where the report could have shown every cause: otherwise it abstains.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import HEALTHY, Finding, Kind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import lacking

KIND = Kind(HEALTHY, "SM", "A part of the GPU limits the launch, and none of its work is wasted.")


def found(view: KernelView) -> Iterator[Finding]:
    """Yield how near to its ceiling the busiest part is."""
    top = view.top
    if top is None or top.use < thresholds.AT_CEILING or not lacking.complete(view):
        return
    number = view.evidence(
        f"{top.name}, of its ceiling", top.use * 100, thresholds.AT_CEILING * 100
    )
    yield view.finding(KIND, 0.0, number, share=1.0, confidence=min(1.0, 0.2 + top.use))
