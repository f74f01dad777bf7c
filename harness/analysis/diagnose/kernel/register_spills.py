"""Values that do not fit in registers and go through local memory.

It shows in loads and stores of local memory at places of the stack that the compiler chose; Nsight
Compute counts them apart (sass__inst_executed_register_spilling). What a program indexes at run
time is local-arrays. Source: NVIDIA, "CUDA C++ Programming Guide", Local Memory.
What warps seldom wait for is left out: a prologue that spills, beside loads by TMA that L1 does not
count.
Gain: where memory is at its ceiling, until the rest of its traffic takes as long as another part;
else the time in which it was busy or waited for, times local memory's part of L1's sectors.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import local_memory

KIND = FindingKind(
    "register-spills",
    "thread",
    "Registers spill: values of a thread travel through local memory.",
    fix=(
        "raise the limit of registers (launch bounds, -maxrregcount), or fewer threads per block",
        "smaller tiles, less unrolling, shorter live ranges",
        "index local arrays by constants, so that they can be registers",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield local memory's part of the traffic."""
    if local_memory.indexed_at_run_time(view) is False:
        yield from local_memory.cost(view, KIND)
