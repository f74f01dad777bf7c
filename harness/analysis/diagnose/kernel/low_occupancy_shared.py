"""Too few warps to hide latency, because each block holds much shared memory.

It shows where nothing is at its ceiling, at most half of an SM's warps fit, and shared memory is
the tightest limiter (launch__occupancy_limit_shared_mem). Kernels that feed tensor cores are left
out: they hide latency by pipelining. Source: NVIDIA, "CUDA C++ Best Practices Guide", Occupancy.
Gain: time by warps, up to the next limiter and to the ceiling of the busiest part.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import occupancy

KIND = FindingKind(
    "low-occupancy-shared",
    "warp scheduler",
    "Few warps fit on an SM, because each thread block holds much shared memory.",
    fix=(
        "smaller tiles or fewer stages in shared memory",
        "narrower types in shared memory, or registers instead",
        "larger blocks that share one tile",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield what more warps would gain, where shared memory holds them down."""
    yield from occupancy.held_down(view, KIND, "shared_mem")
