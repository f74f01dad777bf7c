"""Values that do not fit in registers and go through local memory.

It shows in loads and stores of local memory; Nsight Compute counts apart those that the compiler
made for want of registers (sass__inst_executed_register_spilling). Local arrays indexed at run time
use local memory, too: then that count is 0, and the confidence is lower. Source: NVIDIA, "CUDA C++
Programming Guide", Local Memory.
What warps seldom wait for is left out: a prologue that spills, beside loads by TMA that L1 does not
count.
Gain: where memory is at its ceiling, until the rest of its traffic takes as long as another part;
else the time in which it was busy or waited for, times local memory's part of L1's sectors.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, mix, resources, traffic, waits, warps

KIND = FindingKind(
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
    at_local = waits.share(view, mix.LOCAL)
    if not count or part is None or part < thresholds.LOCAL_PART:
        return
    if at_local is not None and at_local < thresholds.LOCAL_PART:
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
    if at_local is not None:
        evidence.append(view.evidence("samples of warps at local memory", at_local * 100))
    confidence = 0.6 if spilled == 0 else 0.9
    total = gain.of_less_work(view, parts, part, busy)
    if view.use(*parts) >= thresholds.AT_CEILING:
        total = gain.at_the_ceiling(view, dict.fromkeys(parts, part))
    yield view.finding(KIND, total, *evidence, confidence=confidence)
