"""A launch that integer arithmetic limits: addresses, bits, divisions by variables.

Half of the executed instructions or more are integers, and the ALU, the FMA pipe, which multiplies
them, or the issue slots are nearest to their ceiling. Source: "CUDA C++ Programming Guide",
Arithmetic Instructions (64 integer results a cycle and SM, 128 of FP32).
Gain: until the next part is as busy.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, mix, resources

KIND = FindingKind(
    "integer-bound",
    "thread",
    "Integer arithmetic limits the launch.",
    fix=(
        "strength reduction: increments instead of recomputed addresses, shifts for divisions",
        "32-bit instead of 64-bit indices; division by constants or by a precomputed magic number",
        "more elements a thread, so that an address serves several of them",
    ),
)
_PIPES = (resources.ALU, resources.FMA, resources.ISSUE)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound, and the room that other parts leave."""
    integer = mix.share(view, mix.INTEGER)
    if integer is None or integer < thresholds.INTEGER_SHARE:
        return
    named = max(_PIPES, key=view.use)
    parts = (named, *(pipe for pipe in _PIPES if pipe != named))
    yield from bound.either(view, KIND, parts, integer)
