"""Arrays of a thread that are indexed at run time: registers have no index, so they are in memory.

It shows in loads and stores of local memory whose address a register holds, and in a count of
register spills that is 0. Source: NVIDIA, "CUDA C++ Programming Guide", Local Memory ("arrays for
which it cannot determine that they are indexed with constant quantities").
Gain: as that of register-spills.

Where to look: Nsight Compute's Memory Chart has traffic on Local while
sass__inst_executed_register_spilling is 0; in the SASS LDL and STL have a register as their
address. ptxas -v says a stack frame, and 0 bytes of spills.

Neighbours: register-spills accesses fixed places on the stack ([R1+0x10]), which the compiler
chose. uncoalesced is of global memory. Few warps per SM and local traffic together may be
low-occupancy-registers, driven too far the other way.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import local_memory

KIND = FindingKind(
    "local-arrays",
    "thread",
    "A thread's arrays are indexed at run time, so they are in local memory, not in registers.",
    fix=(
        "make their length a constant (a template parameter) and unroll all loops over them",
        "replace an index by comparing and exchanging each element with the next, unrolled",
        "keep them in shared memory, a column per thread, or one list for the whole warp",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield local memory's part of the traffic."""
    if local_memory.indexed_at_run_time(view):
        yield from local_memory.cost(view, KIND)
