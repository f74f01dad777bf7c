"""The finding that both kinds of low occupancy share: warps held down by one limiter."""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import residual, resources, shape, warps

_METRIC = "sm__maximum_warps_per_active_cycle_pct"


def raised(view: KernelView, limiter: str) -> float | None:
    """Return by what factor occupancy would grow without ``limiter``; None if it is not the cause.

    Not the cause: more than half of the warps fit, another limiter is as tight, warps wait at
    barriers for most of their time, or the kernel feeds tensor cores.
    """
    fits = shape.theoretical_occupancy(view)
    if fits is None or fits > thresholds.LOW_OCCUPANCY:
        return None
    if view.use(resources.TENSOR) >= thresholds.PIPELINED or warps.wait_most_for_barriers(view):
        return None
    return shape.raised_occupancy(view, limiter)


def held_down(view: KernelView, kind: FindingKind, limiter: str) -> Iterator[Finding]:
    """Yield what occupancy costs where ``limiter`` holds it down and no other cause is seen.

    Latency is hidden in proportion to the warps, until a part reaches its ceiling (Little's law).
    """
    factor = raised(view, limiter)
    fits = shape.theoretical_occupancy(view)
    rest = residual.left(view)
    if factor is None or fits is None or rest is None:
        return
    yield view.finding(
        kind,
        min(1 - 1 / factor, rest),
        view.evidence(_METRIC, fits * 100, thresholds.LOW_OCCUPANCY * 100),
        view.evidence(
            f"launch__occupancy_limit_{limiter}", shape.limits(view)[limiter], None, "block"
        ),
        view.evidence("blocks that would fit, by those that fit", factor, 1.0, ""),
        view.evidence(
            "busiest part", (1 - residual.slack(view)) * 100, 100 * thresholds.AT_CEILING
        ),
        confidence=0.8,
    )
