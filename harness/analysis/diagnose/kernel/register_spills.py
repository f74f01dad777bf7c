"""Values that do not fit in registers and go through local memory.

It shows in loads and stores of local memory; Nsight Compute counts apart those that the compiler
made for want of registers (sass__inst_executed_register_spilling). Local arrays indexed at run time
use local memory, too: then that count is 0, and the confidence is lower. Source: NVIDIA, "CUDA C++
Programming Guide", Local Memory.
Gain: the time in which memory was busy or waited for, times local memory's part of L1's sectors.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, Kind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, mix, resources, traffic, waits, warps

KIND = Kind(
    "register-spills",
    "thread",
    "Registers spill: values of a thread travel through local memory.",
    fix=(
        "raise the limit of registers (launch bounds, -maxrregcount), or fewer threads a block",
        "smaller tiles, less unrolling, shorter live ranges",
        "index local arrays by constants, so that they can be registers",
    ),
)
_SPILLED = "sass__inst_executed_register_spilling"


def found(view: KernelView) -> Iterator[Finding]:
    """Yield local memory's part of the traffic."""
    count, part = traffic.local_instructions(view), traffic.local_part(view)
    if not count or part is None or part < thresholds.LOCAL_PART:
        return
    parts = (resources.DRAM, resources.L2, resources.FABRIC, resources.L1, resources.LSU)
    waiting = warps.waiting(view, "long_scoreboard", "lg_throttle", "short_scoreboard")
    busy = max(view.use(*parts), waiting)
    evidence = [
        view.evidence(
            "local memory's part of L1's sectors", part * 100, thresholds.LOCAL_PART * 100
        ),
        view.evidence("loads and stores of local memory", count, 0.0, "inst"),
    ]
    spilled = view.get(_SPILLED)
    if spilled is not None:
        evidence.append(view.evidence(_SPILLED, spilled, 0.0, "inst"))
    at_local = waits.share(view, mix.LOCAL)
    if at_local is not None:
        evidence.append(view.evidence("samples of warps at local memory", at_local * 100))
    confidence = 0.6 if spilled == 0 else 0.9
    total = gain.of_less_work(view, parts, part, busy)
    yield view.finding(KIND, total, *evidence, confidence=confidence)
