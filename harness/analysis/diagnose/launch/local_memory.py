"""What a launch's local memory costs: the findings on spilled registers and on local arrays."""

import re
from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, mix, resources, traffic, waits, warps

_SPILLED = "sass__inst_executed_register_spilling"
_PARTS = (resources.DRAM, resources.L2, resources.FABRIC, resources.L1, resources.LSU)
_OF_THE_STACK = re.compile(r"\[R1(\+-?0x[0-9a-f]+)?\]")
"""A place on the stack that the compiler chose: R1 is the stack pointer of CUDA's ABI."""
_MOST = 0.5
"""Of the accesses of local memory: most of them."""


def indexed_at_run_time(view: KernelView) -> bool | None:
    """Return whether most accesses of local memory compute their address, as those of arrays do.

    By the address in the SASS, or else by Nsight Compute's count of spills; None without both.
    """
    rows = [each for each in view.instructions if each.opcode in mix.LOCAL]
    whole, spilled = sum(each.executed for each in rows), view.get(_SPILLED)
    if whole:
        placed = sum(each.executed for each in rows if _OF_THE_STACK.search(each.sass))
        return placed < _MOST * whole
    accesses = traffic.local_instructions(view)
    return None if spilled is None or not accesses else spilled < _MOST * accesses


def cost(view: KernelView, kind: FindingKind) -> Iterator[Finding]:
    """Yield local memory's part of the traffic, where warps wait for it."""
    count, part = traffic.local_instructions(view), traffic.local_part(view)
    at_local = waits.share(view, mix.LOCAL)
    if not count or part is None or part < thresholds.LOCAL_PART:
        return
    if at_local is not None and at_local < thresholds.LOCAL_PART:
        return
    waiting = warps.waiting(view, "long_scoreboard", "lg_throttle", "short_scoreboard")
    busy = max(view.use(*_PARTS), waiting)
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
    total = gain.of_less_work(view, _PARTS, part, busy)
    if view.use(*_PARTS) >= thresholds.AT_CEILING:
        total = gain.at_the_ceiling(view, dict.fromkeys(_PARTS, part))
    yield view.finding(kind, total, *evidence)
