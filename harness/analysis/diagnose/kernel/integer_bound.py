"""A launch that integer arithmetic limits: addresses, bits, divisions by variables.

Half of the executed instructions or more are integers, and the ALU, the FMA pipe, which multiplies
them, or the issue slots are nearest to their ceiling. Source: "CUDA C++ Programming Guide",
Arithmetic Instructions (64 integer results per cycle and SM, 128 of FP32). Range reduction of
angles is slow-range-reduction.
Gain: until the next part is as busy; 0 where integers serve next to no access and no other
arithmetic (ciphers, hashes): then they are the work, unless they take words bit by bit.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel import slow_range_reduction
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, mix, resources

KIND = FindingKind(
    "integer-bound",
    "thread",
    "Integer arithmetic limits the launch.",
    fix=(
        "strength reduction: increments instead of recomputed addresses, shifts for divisions",
        "32-bit instead of 64-bit indices; division by constants or by a precomputed magic number",
        "more elements per thread, so that an address serves several of them",
        "one instruction for all bits of a word (popc, brev, clz) instead of a loop over bits",
    ),
)
_PIPES = (resources.ALU, resources.FMA, resources.ISSUE)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound, and the room that other parts leave."""
    integer = mix.share(view, mix.INTEGER)
    if integer is None or integer < thresholds.INTEGER_SHARE:
        return
    if any(slow_range_reduction.found(view)):
        return
    named = max(_PIPES, key=view.use)
    parts = (named, *(pipe for pipe in _PIPES if pipe != named))
    if _are_the_work(view):
        yield from bound.roof(view, KIND, parts[0], parts[1:])
    else:
        yield from bound.either(view, KIND, parts, integer)


def _are_the_work(view: KernelView) -> bool:
    """Return whether integers serve next to nothing else, and take words as a whole."""
    served = mix.share(view, mix.SERVED)
    if served is None or served >= thresholds.SERVED:
        return False
    return mix.single_bits(view) < thresholds.SINGLE_BITS
