"""Sums that a loop keeps in global memory: it loads and stores the same addresses again and again.

A compiler keeps a sum in a register only where it knows that no other pointer of the loop leads to
it. It shows in a load and a store of one address, by the registers that hold it, which are written
once for many executions of the store.
Source: "CUDA C++ Programming Guide", __restrict__.
Gain: the accesses but the first and last of each address; where memory is at its ceiling, until the
rest takes as long as another part.

Where to look: In the Source page an LDG and an STG with one address stand in the innermost loop,
executed equally often. L1's data path, its instruction queue or L2 is busy, and the FMA pipe is
not. Stores to an address are many times the outputs.

Neighbours: atomics-contention has many threads at one address; here each thread has its own.
l1-bound has loads without the stores. cache-thrash reads other addresses again, which the caches
lost.
"""

import re
from collections import Counter
from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, mix, resources, warps
from harness.analysis.diagnose.launch.counted import Instruction

KIND = FindingKind(
    "global-sums",
    "thread",
    "A loop keeps its sums in global memory: it loads and stores the same addresses each time.",
    fix=(
        "sum in local variables, which are registers, and store them once after the loop",
        "mark pointers that do not overlap as __restrict__, so that the compiler may do so",
        "load what the loop does not change before it",
    ),
)
_ADDRESS = re.compile(r"\[R(\d{1,3})(?:\.64)?(?:\+\S+)?\]")
_MEMORY = (resources.L2, resources.FABRIC, resources.L1, resources.LSU)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the accesses that sums in registers would not need."""
    accesses = mix.executed(view, mix.GLOBAL)
    stores = _repeated(view.instructions)
    if not accesses or not stores:
        return
    saved = 2 * sum(executed - addresses for executed, addresses in stores)
    wasted = min(1.0, saved / accesses)
    waits = warps.waiting(view, "long_scoreboard", "lg_throttle", "drain")
    busy = max(view.use(*_MEMORY), waits)
    if wasted < thresholds.SECTORS_WASTED or busy < thresholds.WAITS:
        return
    total = gain.of_less_work(view, _MEMORY, wasted, busy)
    if view.use(*_MEMORY) >= thresholds.AT_CEILING:
        total = gain.at_the_ceiling(view, dict.fromkeys(_MEMORY, wasted))
    times = sum(each[0] for each in stores) / sum(each[1] for each in stores)
    yield view.finding(
        KIND,
        total,
        view.evidence("stores to an address", times, thresholds.SAME_ADDRESS, ""),
        view.evidence("accesses of such sums", wasted * 100, thresholds.SECTORS_WASTED * 100),
        view.evidence("memory busy or waited for", busy * 100, thresholds.WAITS * 100),
    )


def _repeated(code: tuple[Instruction, ...]) -> list[tuple[int, int]]:
    """Return how often each store of a sum was executed, and for how many addresses of a warp."""
    loaded = {_operand(each): each.executed for each in code if each.opcode == "LDG"}
    stored = [(each.executed, _operand(each)) for each in code if each.opcode == "STG"]
    sums = [
        (executed, operand[1])
        for executed, operand in stored
        if operand and executed and loaded.get(operand, 0) >= executed / 2
    ]
    if not sums:
        return []
    written = Counter[int]()
    for each in code:
        written.update(dict.fromkeys(mix.results(each), each.executed))
    counted = [(executed, written[int(register)]) for executed, register in sums]
    least = thresholds.SAME_ADDRESS
    return [each for each in counted if each[1] and each[0] >= least * each[1]]


def _operand(instruction: Instruction) -> tuple[str, str] | None:
    """Return the address of an access as its text, and the register that holds it."""
    match = _ADDRESS.search(instruction.sass)
    return (match[0], match[1]) if match else None
