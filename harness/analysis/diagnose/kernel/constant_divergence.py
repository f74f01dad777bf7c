"""Threads of a warp that read different addresses of constant memory, one after the other.

The constant cache gives a warp one address at a time: as many passes as addresses. It shows in
requests of that cache by executed loads whose address a register holds, while it is busy or
waited for. Source: "CUDA C++ Programming Guide", Constant Memory ("split into as many separate
requests as there are different memory addresses").
Gain: the time in which the cache was busy or waited for, times the passes but the first.

Where to look: In the Source page samples stand at, or right behind, an LDC whose address is a
register. idc__requests.sum is several times the executed LDC. Warps stall on MIO Throttle or Short
Scoreboard, and L1, L2 and DRAM are not busy.

Neighbours: bank-conflicts is the same of shared memory, counted in its wavefronts. uncoalesced is
of global memory, counted in sectors. warp-divergence has branches; here all lanes execute the load.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import computed, gain, mix, resources, waits

KIND = FindingKind(
    "constant-divergence",
    "warp",
    "Threads of a warp read different addresses of constant memory, and each takes a pass.",
    fix=(
        "put the table into shared memory, or read it as global memory through L1 (__ldg)",
        "keep a small table in registers, an entry a lane, and fetch entries by shuffles",
        "constant memory only for what all threads of a warp read at once",
    ),
)
_PASSES = 2.0
"""Addresses a load: with two on average, half of the passes are there for divergence only."""


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the passes that loads of one address would not need."""
    indexed, loads = mix.indexed_constants(view), mix.executed(view, mix.CONSTANT)
    requests = view.get(computed.CONSTANT_REQUESTS)
    if not indexed or not loads or requests is None:
        return
    passes = (requests - (loads - indexed)) / indexed
    busy = max(view.use(resources.CONSTANT), waits.for_constants(view) or 0.0)
    if passes < _PASSES or busy < thresholds.WAITS:
        return
    yield view.finding(
        KIND,
        gain.of_less_work(view, (resources.CONSTANT,), 1 - 1 / passes, busy),
        view.evidence("different addresses a load, on average", passes, _PASSES, ""),
        view.evidence("constant cache busy or waited for", busy * 100, thresholds.WAITS * 100),
    )
