"""Accesses to global memory that touch more 32-byte sectors than their bytes need.

A warp's access is split into sectors; a stride, or structures where arrays would do, makes each
thread's bytes lie in a sector of their own. It shows in sectors touched by sectors needed
(SourceCounters), or in few bytes used of a sector, while DRAM, L2 or L1 is busy, or the warps of a
filled GPU wait for loads. Sectors that L1 or L2 hold for the next access are not moved again, so
the waste is that of each level. Where threads access 1 or 2 neighbouring bytes, the title and the
remedies are those of narrow accesses.
Source: NVIDIA, "CUDA C++ Best Practices Guide", Coalesced Access to Global Memory.
Gain: where the memory is at its ceiling, until the sectors that are needed take as long as another
part; else the time in which it was busy or waited for, times the sectors wasted.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, narrow, resources, shape, traffic, warps

KIND = FindingKind(
    "uncoalesced",
    "warp",
    "Threads of a warp access addresses that lie far apart, and much of each sector is unused.",
    fix=(
        "let neighbouring threads access neighbouring addresses",
        "structures of arrays instead of arrays of structures",
        "transpose tiles through shared memory",
    ),
)
_SECTOR = 32.0
_MEMORY = (resources.DRAM, resources.L2, resources.FABRIC, resources.L1, resources.LSU)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the waste of sectors at the level of memory where it costs most."""
    waste = traffic.waste(view)
    if waste is None or waste.at_l1 < thresholds.SECTORS_WASTED:
        return
    beside_shared = traffic.beside_shared(view)
    levels = {
        resources.DRAM: (view.use(resources.DRAM), waste.at_dram or 0.0),
        resources.L2: (view.use(resources.L2, resources.FABRIC), waste.at_l2 or 0.0),
        resources.L1: (view.use(resources.L1) * beside_shared, waste.at_l1),
    }
    filled = (shape.waves(view) or 1.0) >= thresholds.LOW_OCCUPANCY
    counted = filled and {resources.DRAM, resources.L2} <= view.used.keys()
    waits = warps.waiting(view, "long_scoreboard", "lg_throttle", "drain") if counted else 0.0
    if max(busy for busy, _ in levels.values()) < thresholds.AT_CEILING <= waits:
        levels["waits for memory"] = (waits, waste.at_l2 or 0.0)
    name, (busy, wasted) = max(levels.items(), key=lambda item: item[1][0] * item[1][1])
    if busy < thresholds.WAITS or wasted < thresholds.SECTORS_WASTED:
        return
    evidence = [
        view.evidence("sectors wasted there", wasted * 100, thresholds.SECTORS_WASTED * 100),
        view.evidence(f"{name}: busy", busy * 100, thresholds.WAITS * 100),
    ]
    for operation in ("ld", "st"):
        used = traffic.bytes_used_of_sector(view, operation)
        if used and used < _SECTOR:
            metric = f"smsp__sass_average_data_bytes_per_sector_mem_global_op_{operation}.ratio"
            evidence.append(view.evidence(metric, used, _SECTOR, "byte/sector"))
    saved = gain.of_less_work(view, _MEMORY, wasted, busy)
    if busy >= thresholds.AT_CEILING and name in view.used:
        saved = gain.at_the_ceiling(view, _wasted(waste, beside_shared))
    yield narrow.told(view, view.finding(KIND, saved, *evidence))


def _wasted(waste: traffic.Waste, beside_shared: float) -> dict[str, float]:
    """Return the part of each memory's work that coalesced accesses would not need."""
    at_l2 = waste.at_l2 or 0.0
    return {
        resources.DRAM: waste.at_dram or 0.0,
        resources.L2: at_l2,
        resources.FABRIC: at_l2,
        resources.L1: waste.at_l1 * beside_shared,
    }
