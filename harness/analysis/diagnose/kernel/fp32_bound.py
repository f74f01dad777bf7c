"""A launch whose FMA pipe is nearest to its ceiling with FP32 arithmetic: a bound, and no fault.

Products of matrices that could run on tensor cores have a finding of their own
(tensor-cores-unused), integers, too. So the gain is 0.
Source: the roofline of Williams, Waterman and Patterson, CACM 52(4), 2009.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, mix, resources

KIND = FindingKind(
    "fp32-bound",
    "SM",
    "The rate of FP32 arithmetic limits the launch.",
    fix=(
        "fewer operations: common factors, precomputed tables, a better algorithm",
        "tensor cores, where the work is a product of matrices or can be made into one",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound where more of the pipe's instructions are FP32 than integer."""
    real, integer = mix.share(view, mix.FP32), mix.share(view, mix.MULTIPLY)
    if real is not None and integer is not None and real > integer:
        yield from bound.roof(view, KIND, resources.FMA, besides=(resources.ISSUE,))
