"""A launch that issues an instruction in most cycles, of many kinds: too many instructions.

The issue slots are nearest to their ceiling and no pipe is: loop overhead, addresses and narrow
accesses beside the arithmetic. Warps are full (else: warp-divergence) and integers are not most of
it (else: integer-bound), nor is FP64 arithmetic on FP32 values much (else: fp64-bound). Source:
NVIDIA, Kernel Profiling Guide, Scheduler Statistics.
Gain: until the next part is as busy.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel import fp64_bound
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, lacking, mix, resources, shape, warps

KIND = FindingKind(
    "issue-bound",
    "warp scheduler",
    "The schedulers issue in nearly every cycle: there are too many instructions.",
    fix=(
        "vector loads and stores, more elements per thread",
        "unroll, hoist what a loop recomputes, fold constants (compilers keep the order of floats)",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound, and the room that other parts leave."""
    integer, threads = mix.share(view, mix.INTEGER), warps.threads(view)
    if integer is None or threads is None or not lacking.complete(view):
        return
    if integer >= thresholds.INTEGER_SHARE:
        return
    if threads < thresholds.FULL_WARP * warps.threads_of_block(view):
        return
    pipes = (resources.FMA, resources.ALU, resources.XU, resources.FP64, resources.TENSOR)
    if view.use(*pipes) >= view.use(resources.ISSUE) - thresholds.CLOSE:
        return
    if any(fp64_bound.found(view)):
        return
    yield from bound.avoidable(view, KIND, (resources.ISSUE,), shape.activity(view) or 1.0)
