"""A launch whose tensor pipe is the part nearest to its ceiling: a bound, and no fault.

Only fewer or narrower operations make it faster, so the gain is 0. On Hopper mma.sync reaches less
than wgmma at the same use of the pipe: 602 by 830 TFLOP/s at 100 % in problem 4 (p7 and h7).
Source: the roofline of Williams, Waterman and Patterson, CACM 52(4), 2009; the ceiling is measured.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, resources

KIND = FindingKind(
    "tensor-bound",
    "SM",
    "The tensor cores' rate limits the launch.",
    fix=(
        "narrower types (FP8), or structured sparsity",
        "wgmma instead of mma.sync on Hopper, tcgen05 on Blackwell",
        "fewer operations: no padding, no recomputation",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound."""
    yield from bound.roof(view, KIND, resources.TENSOR)
