"""A launch whose device memory is the part nearest to its ceiling: a bound, and no fault.

Only fewer bytes make it faster, and its counters do not say which bytes are needed: what wastes
them has findings of its own (uncoalesced, cache-thrash, register-spills). So the gain is 0.
Source: the roofline of Williams, Waterman and Patterson, CACM 52(4), 2009; the ceiling is measured.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, resources

KIND = FindingKind(
    "dram-bound",
    "SM",
    "Device memory's bandwidth limits the launch.",
    fix=(
        "fuse it with the kernel that makes or takes its data",
        "narrower types in memory",
        "block the algorithm so that bytes are used more often",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound."""
    yield from bound.roof(view, KIND, resources.DRAM)
