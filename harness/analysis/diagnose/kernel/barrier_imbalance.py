"""Warps that wait for the others of their block at barriers.

It remains where nothing is at its ceiling, other causes could be seen and were not, and barriers
are the reason for which warps wait longest. Kernels at the ceiling of the tensor pipe wait at
barriers, too, by design. Source: NVIDIA, Kernel Profiling Guide, Warp Scheduler States (Barrier).
Gain: the time in which not even the busiest part was busy, times the part of it spent at barriers.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.families import FindingModule
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel import frequent_barriers, grid_barrier
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import residual, warps

KIND = FindingKind(
    "barrier-imbalance",
    "warp scheduler",
    "Warps wait at barriers for the slowest warp of their thread block.",
    fix=(
        "give the warps of a block equal work between two barriers",
        "fewer barriers: warp-level primitives, double buffering, finer barriers (mbarrier)",
        "smaller blocks, so that more of them overlap",
    ),
)
_OTHER_BARRIERS: tuple[FindingModule[KernelView], ...] = (grid_barrier, frequent_barriers)
"""The findings that explain the same waits by another cause."""


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the time spent at barriers."""
    rest = residual.left(view)
    if rest is None or not warps.wait_most_for_barriers(view):
        return
    if any(found for module in _OTHER_BARRIERS for found in module.found(view)):
        return
    barrier = warps.waiting(view, "barrier")
    yield view.finding(
        KIND,
        rest * barrier,
        view.evidence("warps' cycles: barrier", barrier * 100, thresholds.BARRIER_WAITS * 100),
        view.evidence(
            "busiest part", (1 - residual.slack(view)) * 100, thresholds.AT_CEILING * 100
        ),
        confidence=0.8,
    )
