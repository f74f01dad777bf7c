"""A launch that FP64 arithmetic limits.

The FP64 pipe is nearest to its ceiling. Or a launch that issues near its ceiling computes in double
what is single (FP32 values are converted to FP64 and back), and that is much of what it issues: a
GPU with a wide FP64 pipe (GH100: half of FP32's) shows it in the issue slots, as functions of
double take many instructions where FP32 has one (MUFU), before the pipe is full. A constant
without its `f`, or a sum that would need it nowhere else, makes the compiler compute in double.
Source: NVIDIA, "CUDA C++ Best Practices Guide", Type Conversions; rates in the "CUDA C++
Programming Guide", Arithmetic Instructions.
Gain: the pipe's time, as FP32 would take its part of it (device attribute
single_to_double_precision_perf_ratio), or the slots that FP64 and its conversions take, as far as
other parts leave room.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, lacking, mix, resources

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
_PARTS = (resources.FP64, resources.ISSUE, resources.XU)
"""What FP64 arithmetic and its conversions, which the special-function pipe makes, keep busy."""


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound, and what FP32 would gain."""
    faster = view.get(_RATIO) or 2.0
    by_pipe = [*bound.avoidable(view, KIND, (resources.FP64, resources.ISSUE), 1 - 1 / faster)]
    yield from by_pipe or _promoted(view)


def _promoted(view: KernelView) -> Iterator[Finding]:
    """Yield the FP64 arithmetic on FP32 values where it fills much of the issue slots."""
    double, converted = mix.share(view, mix.FP64), mix.conversions_of_double(view)
    if not double or converted is None or not lacking.complete(view):
        return
    if converted < thresholds.PROMOTED * double:
        return
    busy, others = view.use(*_PARTS), view.use_of_others(*_PARTS)
    if busy < thresholds.AT_CEILING or busy < others:
        return
    saved = min(double + converted, 1 - others / busy)
    if saved < thresholds.ROOM:
        return
    ceiling = thresholds.AT_CEILING * 100
    yield view.finding(
        KIND,
        saved,
        view.evidence("FP64 of executed instructions", double * 100),
        view.evidence(
            "conversions between FP32 and FP64, of FP64 instructions",
            converted / double * 100,
            thresholds.PROMOTED * 100,
        ),
        view.evidence("FP64 pipe, its conversions or issue slots", busy * 100, ceiling),
        share=min(busy, 1.0),
        confidence=0.8,
    )
