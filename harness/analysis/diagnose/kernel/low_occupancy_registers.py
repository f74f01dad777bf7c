"""Too few warps to hide latency, because each thread holds many registers.

It shows where nothing is at its ceiling, at most half of an SM's warps fit, and registers are the
tightest limiter (launch__occupancy_limit_registers). Kernels that feed tensor cores are left out:
they hide latency by pipelining. Source: NVIDIA, "CUDA C++ Best Practices Guide", Occupancy.
Gain: time by warps, up to the next limiter and to the ceiling of the busiest part.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import occupancy

KIND = FindingKind(
    "low-occupancy-registers",
    "warp scheduler",
    "Few warps fit on an SM, because each thread holds many registers.",
    fix=(
        "launch bounds or -maxrregcount, as long as nothing spills",
        "smaller tiles per thread, less unrolling",
        "more independent work per thread (ILP), if the registers are needed",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield what more warps would gain, where registers hold them down."""
    yield from occupancy.held_down(view, KIND, "registers")
