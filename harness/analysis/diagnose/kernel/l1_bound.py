"""A launch that loads of global memory limit at L1: nearly all hit, and each serves little work.

L1's data path, or the unit that takes the instructions of loads and stores, is nearest to its
ceiling, most of its wavefronts are no shared memory's, and few sectors are wasted (else:
uncoalesced). Source: "CUDA C++ Best Practices Guide", Shared Memory (L1 delivers a line of 128
bytes per cycle and SM); registers deliver three operands to each instruction.
Gain: until the next part is as busy, with fewer loads to issue.

Where to look: In Memory Workload Analysis Mem Busy or Mem Pipes Busy is high while DRAM and L2 are
not, and L1/TEX Hit Rate is near 100 %. Nearest to its peak is l1tex__data_pipe_lsu_wavefronts or
sm__inst_executed_pipe_lsu. Warps stall on LG Throttle; the FMA pipe is far from full.

Neighbours: shared-memory-bound fills the same path with wavefronts of shared memory. uncoalesced
moves sectors of which little is used. cache-thrash misses L1. In global-sums stores of the same
addresses stand beside the loads.
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel import global_sums
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, mix, resources, traffic

KIND = FindingKind(
    "l1-bound",
    "SM",
    "Loads of global memory that L1 holds limit the launch: each serves too few operations.",
    fix=(
        "several neighbouring outputs per thread, so that a register serves a loaded value to each",
        "a tile of the input in shared memory, read from there into registers",
        "vector loads of 8 or 16 bytes per thread",
    ),
)
_MOST = 0.5
"""Of L1's work, accesses of global memory: most of it."""
_PARTS = (resources.L1, resources.LSU)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bound, and the room that other parts leave."""
    shared, waste, local = (
        traffic.shared_part(view),
        traffic.waste(view),
        mix.share(view, mix.LOCAL),
    )
    loads = mix.executed(view, mix.GLOBAL)
    if shared is None or waste is None or not loads or local:
        return
    if traffic.beside_shared(view) < _MOST or waste.at_l1 >= thresholds.SECTORS_WASTED:
        return
    if any(global_sums.found(view)):
        return
    issued = mix.share(view, mix.GLOBAL) or 0.0
    named = max(_PARTS, key=view.use)
    parts = (named, *(part for part in _PARTS if part != named))
    done = (mix.executed(view, mix.FP32 | mix.FP16 | mix.FP64) or 0) / loads
    for finding in bound.avoidable(view, KIND, parts, 1.0, issued):
        number = view.evidence("floating-point instructions per access", done, None, "inst")
        yield replace(finding, evidence=(*finding.evidence, number))
