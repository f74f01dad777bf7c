"""A launch that special functions limit: sine, exponential, reciprocal, root, and conversions.

The special-function pipe (MUFU, XU) is nearest to its ceiling: it makes 16 results per cycle and SM
where the FMA pipe makes 128. Source: "CUDA C++ Programming Guide", Arithmetic Instructions.
Gain: until the next part is as busy; polynomials on the FMA pipe take some of it.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, resources

KIND = FindingKind(
    "special-function-bound",
    "thread",
    "The special-function pipe limits the launch: exponentials, roots, divisions or conversions.",
    fix=(
        "compute the function less often: hoist it, or use a recurrence or a table",
        "a polynomial on the FMA pipe for part of the values",
        "multiply by a reciprocal instead of dividing; fewer conversions",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound, and the room that other parts leave."""
    yield from bound.either(view, KIND, (resources.XU,), 1.0)
