"""Barriers of the whole grid within a launch (grid.sync of cooperative groups, or by hand).

All blocks are resident, one thread of each adds to a counter in global memory and reads it again
until all have arrived, and the block's others wait for it at a barrier. It shows in a loop around a
load that no cache may answer (.STRONG), behind an atomic and before a barrier, in a grid that fits
on the GPU at once. Source: "CUDA C++ Programming Guide", Cooperative Groups, Grid Synchronization.
Gain: the time in which not even the busiest part was busy, times the part of it spent there.

Where to look: No unit is busy in Nsight Compute's GPU Speed Of Light; Warp State has Stall Barrier
or Stall Membar first. In the Source page samples stand at a load with .STRONG.GPU in a short loop,
and at the BAR.SYNC behind it. launch__waves_per_multiprocessor is 1 at most.

Neighbours: frequent-barriers has barriers of a block alone, and no load that polls. latency-bound
waits for data (long scoreboard). tail-effect and too-few-blocks leave SMs idle; here every SM holds
warps, which wait.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import TIME, KernelView
from harness.analysis.diagnose.launch import mix, shape, warps
from harness.analysis.diagnose.launch.counted import Instruction

KIND = FindingKind(
    "grid-barrier",
    "SM",
    "All blocks wait for each other at barriers of the whole grid (grid.sync), again and again.",
    fix=(
        "several steps between two barriers: tiles with halos in shared memory (temporal blocking)",
        "fewer, larger blocks, or one cluster and its distributed shared memory",
        "an algorithm of fewer steps (multigrid); a CUDA graph of launches instead of barriers",
    ),
)
_BEFORE, _LOOP, _BEHIND = 40, 16, 24
"""Instructions between the atomic, the load, its loop's end, and the barrier of the block."""
_POLLS = frozenset({"LD", "LDG"})


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the time that blocks wait for the others."""
    blocks, waves = shape.blocks(view), shape.waves(view)
    arrived = _arrivals(view.instructions)
    if not arrived or not blocks or view.top is None or (waves or 0.0) > 1:
        return
    if not warps.stalls(view) or shape.brief(view):
        return
    waited, barriers = warps.waiting(view, "barrier", "membar"), arrived / blocks
    if waited < thresholds.BARRIER_WAITS or barriers < 1:
        return
    yield view.finding(
        KIND,
        max(0.0, 1 - view.top.use) * waited,
        view.evidence("barriers of the grid", barriers, 1.0, ""),
        view.evidence("time from one to the next", view.metrics[TIME] / barriers, None, "ns"),
        view.evidence("warps' cycles: barrier", waited * 100, thresholds.BARRIER_WAITS * 100),
        view.evidence(f"busiest part: {view.top.name}", view.top.use * 100),
    )


def _arrivals(code: tuple[Instruction, ...]) -> int:
    """Return how often a block told the others that it has arrived."""
    polls = (
        index
        for index, each in enumerate(code)
        if each.opcode in _POLLS and ".STRONG." in each.sass and each.executed
    )
    for index in polls:
        before, loop = code[max(0, index - _BEFORE) : index], code[index : index + _LOOP]
        ends = [offset for offset, each in enumerate(loop) if each.opcode == "BRA"]
        if not ends:
            continue
        behind = code[index + ends[0] : index + ends[0] + _BEHIND]
        told = [each.executed for each in before if each.opcode in mix.ATOMIC and each.executed]
        if told and any(each.opcode in mix.BARRIER for each in behind):
            return told[-1]
    return 0
