"""Warps whose threads take different branches, one after the other.

It shows in threads executed an instruction: 32 in a full warp. Threads of a block whose size is no
multiple of 32 do not count. Where a pipe or the issue slots limit, or latency, time follows
executed warp instructions; where DRAM does, it is hidden. Source: NVIDIA, "CUDA C++ Programming
Guide", SIMT Architecture.
Gain: the idle lanes, as far as memory leaves room.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import resources, shape, warps

KIND = FindingKind(
    "warp-divergence",
    "warp",
    "Threads of a warp take different branches, and the warp executes each with the others idle.",
    fix=(
        "sort or group work so that a warp's threads take one branch",
        "replace short branches by predication or arithmetic",
        "compact the active items before the expensive part",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the idle lanes of executed instructions."""
    threads, whole = warps.threads(view), warps.threads_of_block(view)
    if threads is None or threads >= thresholds.FULL_WARP * whole:
        return
    idle = 1 - threads / whole
    activity = shape.activity(view)
    room = 1 - view.use(resources.DRAM, resources.L2)
    evidence = [view.evidence(warps.THREADS, threads, thresholds.FULL_WARP * whole, "threads")]
    uniform = view.get("smsp__sass_average_branch_targets_threads_uniform.pct")
    if uniform is not None:
        name = "smsp__sass_average_branch_targets_threads_uniform.pct"
        evidence.append(view.evidence(name, uniform))
    gain = min(idle * (1.0 if activity is None else activity), room)
    yield view.finding(KIND, gain, *evidence)
