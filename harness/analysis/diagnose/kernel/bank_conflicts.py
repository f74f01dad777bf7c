"""Accesses to shared memory whose threads fall on the same bank, so that the access is repeated.

A warp's access takes one wavefront if all its 32 threads fall on different banks, and n if n of
them share one. It shows in wavefronts passed by wavefronts needed (SourceCounters, or the conflict
counters) while L1's data path is busy or warps wait for its queue. Source: NVIDIA, "CUDA C++ Best
Practices Guide", Shared Memory and Memory Banks.
Gain: the time in which the path was busy, times the wavefronts that conflicts add; where another
part is nearer to its ceiling, only the time in which warps waited for the path.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, resources, traffic, warps

KIND = FindingKind(
    "bank-conflicts",
    "warp",
    "Threads of a warp access the same banks of shared memory, and the access is repeated.",
    fix=(
        "pad the rows of the shared array by 4 or 16 bytes",
        "permute addresses by XOR (swizzle)",
        "ldmatrix, or TMA's own swizzles",
    ),
)
_PATH = (resources.L1, resources.LSU)
_BUSY = 0.3
"""Of the path's peak, or of the warps' cycles: below it the conflicts hide behind other work. Steps
p2 and p3 of problem 4 lose nothing to them at 41 to 49 % with a tenth of conflicts."""


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the wavefronts that conflicts add, where shared memory is used enough to cost time."""
    wasted = traffic.conflicts(view)
    if wasted is None or not thresholds.SPECIFIC_WASTE <= wasted < 1:  # not all: one was needed
        return
    part = traffic.shared_part(view)
    waits = warps.waiting(view, "mio_throttle", "short_scoreboard")
    busy = max(view.use(resources.L1) * (1.0 if part is None else part), waits)
    if view.use_of_others(*_PATH) >= max(thresholds.AT_CEILING, view.use(resources.L1)):
        busy = waits
    if busy < _BUSY:
        return
    yield view.finding(
        KIND,
        gain.of_less_work(view, _PATH, wasted, busy),
        view.evidence("wavefronts from conflicts", wasted * 100, thresholds.SPECIFIC_WASTE * 100),
        view.evidence("wavefronts a needed wavefront", 1 / (1 - wasted), 1.0, ""),
        view.evidence("shared memory busy or waited for", busy * 100, _BUSY * 100),
    )
