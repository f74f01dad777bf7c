"""A launch that shared memory's bandwidth limits, without conflicts.

L1's data path, which delivers 128 bytes per cycle and SM, is nearest to its ceiling, most of its
wavefronts are shared memory's, and few come from conflicts (else: bank-conflicts), nor are they
the operands of small tiles (small-tiles). Source: "CUDA C++ Programming Guide", Shared Memory.
Gain: until the next part is as busy, with fewer accesses to issue.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel import small_tiles
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, mix, resources, traffic

KIND = FindingKind(
    "shared-memory-bound",
    "SM",
    "Shared memory's bandwidth limits the launch.",
    fix=(
        "larger tiles in registers, so that a value read from shared memory serves more operations",
        "shuffles within a warp instead of shared memory",
        "vector accesses of 16 bytes; wgmma, which reads shared memory itself",
    ),
)
_MOST = 0.5
"""Of L1's wavefronts, those of shared memory: most of them."""


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound, and the room that other parts leave."""
    part, wasted = traffic.shared_part(view), traffic.conflicts(view)
    if part is None or part < _MOST or wasted is None or wasted >= thresholds.SECTORS_WASTED:
        return
    if any(small_tiles.found(view)):
        return
    accesses = mix.share(view, mix.SHARED) or 0.0
    yield from bound.avoidable(view, KIND, (resources.L1, resources.LSU), 1.0, accesses)
