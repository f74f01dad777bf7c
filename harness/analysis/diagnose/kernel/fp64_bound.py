"""A launch that FP64 arithmetic limits.

The FP64 pipe is nearest to its ceiling. Often a constant without its `f`, or a sum that would need
it nowhere else, makes the compiler compute in double. Source: NVIDIA, "CUDA C++ Best Practices
Guide", Type Conversions; rates in the "CUDA C++ Programming Guide", Arithmetic Instructions.
Gain: the pipe's time, as FP32 would take its part of it (device attribute
single_to_double_precision_perf_ratio), as far as other parts leave room.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, resources

KIND = FindingKind(
    "fp64-bound",
    "thread",
    "The rate of FP64 arithmetic limits the launch.",
    fix=(
        "FP32 where the accuracy allows: constants with f, float functions",
        "compensated FP32 sums, or FP64 only for the final sum",
        "FP64 tensor cores (DMMA) for products of matrices",
    ),
)
_RATIO = "device__attribute_single_to_double_precision_perf_ratio"


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound, and what FP32 would gain."""
    faster = view.get(_RATIO) or 2.0
    yield from bound.avoidable(view, KIND, (resources.FP64, resources.ISSUE), 1 - 1 / faster)
