"""Barriers of the whole block every few instructions, with little work for its threads between.

Algorithms that go step by step (a column of a factorisation, a level of a scan) let one warp or a
few threads work, and all others execute the branches around the step and the barrier behind it.
It shows in a warp's instructions by its barriers, where barriers are what warps wait for longest;
the issue slots may be busy, with branches and barriers. Those around a barrier of the grid are
grid-barrier. Source: NVIDIA, Kernel Profiling Guide, Warp Scheduler States (Barrier).
Gain: the issue slots that branches and barriers take, and the free time that warps spend there.

Where to look: Stall Barrier is first in Warp State, and the Source page has a BAR.SYNC every few
lines of SASS, with samples at each. Few threads pass the branches between them (predicated-on
threads below 32).

Neighbours: barrier-imbalance has few barriers, at which warps arrive at different times.
grid-barrier has blocks that wait for each other. warp-divergence idles lanes of a warp; here whole
warps have nothing to do.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel import grid_barrier
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import mix, resources, shape, warps

KIND = FindingKind(
    "frequent-barriers",
    "warp scheduler",
    "Warps meet at a barrier of the block every few instructions, and do little between two.",
    fix=(
        "one warp a problem: values in registers, shuffles and __syncwarp instead of barriers",
        "several problems per block, and fewer threads for each",
        "several steps between two barriers; work for all threads in each of them",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield what barriers and the branches between them cost."""
    barriers, control = mix.share(view, mix.BARRIER), mix.share(view, mix.CONTROL)
    if not barriers or control is None or view.top is None or shape.brief(view):
        return
    if not warps.wait_most_for_barriers(view) or 1 / barriers >= thresholds.BETWEEN_BARRIERS:
        return
    if not shape.blocks(view) or any(grid_barrier.found(view)):
        return
    waited, working = warps.waiting(view, "barrier"), warps.working_threads(view)
    evidence = [
        view.evidence("instructions a barrier", 1 / barriers, thresholds.BETWEEN_BARRIERS, "inst"),
        view.evidence("warps' cycles: barrier", waited * 100, thresholds.BARRIER_WAITS * 100),
        view.evidence("branches and barriers, of instructions", control * 100),
    ]
    if working is not None:
        evidence.append(view.evidence(warps.WORKING, working, None, "threads"))
    free = max(0.0, 1 - view.top.use)
    yield view.finding(KIND, control * view.use(resources.ISSUE) + free * waited, *evidence)
