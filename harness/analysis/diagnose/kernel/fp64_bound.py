"""A launch that FP64 arithmetic limits.

The FP64 pipe is nearest to its ceiling. Or the launch computes in double what is single (FP32
values are converted to FP64 and back), and that is much of what it issues near its ceiling, or what
its warps wait at: a GPU with a wide FP64 pipe (GH100: half of FP32's) shows it there before the
pipe is full, as functions of double take many instructions, each waiting for the one before, where
FP32 has one (MUFU). A constant without its `f`, or a sum that would need it nowhere else, makes the
compiler compute in double.
Source: NVIDIA, "CUDA C++ Best Practices Guide", Type Conversions; rates in the "CUDA C++
Programming Guide", Arithmetic Instructions.
Gain: the pipe's time, as FP32 would take its part of it (device attribute
single_to_double_precision_perf_ratio), or the slots or samples of FP64, its conversions and
the moves of its constants, as far as other parts leave room.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, lacking, mix, resources, waits

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
_CONVERSIONS = "conversions between FP32 and FP64, of FP64 instructions"
_BUSY = "FP64 pipe, its conversions or issue slots"


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound, and what FP32 would gain."""
    faster = view.get(_RATIO) or 2.0
    by_pipe = [*bound.avoidable(view, KIND, (resources.FP64, resources.ISSUE), 1 - 1 / faster)]
    yield from by_pipe or _promoted(view)


def _promoted(view: KernelView) -> Iterator[Finding]:
    """Yield the FP64 arithmetic on FP32 values, where it is much of what limits the launch."""
    double, converted = mix.share(view, mix.FP64), mix.conversions_of_double(view)
    if not double or converted is None or not lacking.complete(view):
        return
    if converted < thresholds.PROMOTED * double:
        return
    moved = min(mix.moves(view), 2 * double)
    saved, limit = _issued(view, double + converted + moved) or _waited(view) or (0.0, None)
    if limit is None or saved < thresholds.ROOM:
        return
    conversions = converted / double * 100
    yield view.finding(
        KIND,
        saved,
        view.evidence("FP64 of executed instructions", double * 100),
        view.evidence(_CONVERSIONS, conversions, thresholds.PROMOTED * 100),
        limit,
        confidence=0.8,
    )


def _issued(view: KernelView, part: float) -> tuple[float, Evidence] | None:
    """Return what goes with ``part`` of all instructions where issuing them limits the launch."""
    busy, others = view.use(*_PARTS), view.use_of_others(*_PARTS)
    if busy < thresholds.AT_CEILING or busy < others:
        return None
    limit = view.evidence(_BUSY, busy * 100, thresholds.AT_CEILING * 100)
    return min(part, 1 - others / busy), limit


def _waited(view: KernelView) -> tuple[float, Evidence] | None:
    """Return the time of warps at FP64 arithmetic, where that is most and nothing is busy."""
    held = waits.share(view, mix.FP64 | mix.CONVERSION)
    if held is None or held < thresholds.AT_DOUBLE or view.use(*view.used) >= thresholds.AT_CEILING:
        return None
    limit = view.evidence("samples of warps at FP64", held * 100, thresholds.AT_DOUBLE * 100)
    return min(held, 1 - view.use_of_others(*_PARTS)), limit
