"""Data that a report lacks before causes can be ruled out, and the capture that has them.

A cause that remains when others are ruled out, such as latency, and "healthy" are said only of a
launch whose report could have shown the others. So a report with less evidence leads to less said,
and not to another name.
"""

from collections.abc import Callable

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import (
    computed,
    host_memory,
    local_memory,
    mix,
    resources,
    shape,
    traffic,
    waits,
    warps,
)
from harness.analysis.diagnose.thresholds import MATTERS

_SM_CYCLES = "--metrics sm__cycles_active.avg,sm__cycles_active.max,sm__cycles_elapsed.max"


def _unused(view: KernelView, name: str) -> bool:
    return name not in view.used


def _limiters(view: KernelView) -> bool:
    return not shape.limits(view).keys() >= {"registers", "shared_mem", "warps"}


def _spread_of_atomics(view: KernelView) -> bool:
    """Return whether it is not known how atomics spread, and matters: one thread's a cycle."""
    count, cycles = traffic.atomic_instructions(view), shape.elapsed_cycles(view)
    if not count or view.get(traffic.ATOMIC_SLICE) is not None:
        return False
    return not cycles or count * 32 >= MATTERS * cycles


def _weight_of_local(view: KernelView) -> bool:
    return bool(traffic.local_instructions(view)) and traffic.local_part(view) is None


def _kind_of_local(view: KernelView) -> bool:
    """Return whether local memory is used, and not known whether for spills or for arrays."""
    used = bool(traffic.local_instructions(view))
    return used and local_memory.indexed_at_run_time(view) is None


def _passes_of_constants(view: KernelView) -> bool:
    """Return whether warps wait for constant memory, and it is not known why."""
    if view.get(computed.CONSTANT_REQUESTS) is not None or not mix.indexed_constants(view):
        return False
    busy = max(waits.for_constants(view) or 0.0, view.use(resources.CONSTANT))
    return busy >= thresholds.WAITS


def _levels_of_waste(view: KernelView) -> bool:
    waste = traffic.waste(view)
    if waste is None or waste.at_l1 < thresholds.SECTORS_WASTED:
        return False
    return waste.at_l2 is None or waste.at_dram is None


def _bytes_at_the_roof(view: KernelView) -> bool:
    top = view.top
    at_roof = top is not None and top.name == resources.DRAM
    return at_roof and computed.bytes_read(view) is None


def _remote(view: KernelView) -> bool:
    """Return whether blocks of a cluster may read each other's memory, and it is not known."""
    clusters = (view.get("launch__cluster_size") or 0) > 1
    return clusters and bool(mix.executed(view, mix.GENERIC)) and view.get(traffic.REMOTE) is None


def _masks(view: KernelView) -> bool:
    """Return whether it is not known how many loads are masked, and padding would cost time."""
    fetched = (resources.DRAM, resources.L2, resources.FABRIC)
    inside = view.use_of_others(*fetched) >= max(thresholds.WAITS, view.use(*fetched))
    return inside and bool(view.instructions) and traffic.masked_loads(view) is None


NEEDED: tuple[tuple[str, Callable[[KernelView], bool]], ...] = (
    ("--metrics gpu__time_duration.sum", lambda view: view.get("gpu__time_duration.sum") is None),
    ("--section SpeedOfLight", lambda view: _unused(view, resources.DRAM)),
    ("--section SpeedOfLight", lambda view: _unused(view, resources.ISSUE)),
    ("--section SpeedOfLight", lambda view: _unused(view, resources.L2)),
    (
        "--section ComputeWorkloadAnalysis",
        lambda view: any(_unused(view, pipe) for pipe in resources.COMPUTE),
    ),
    ("--section LaunchStats", lambda view: shape.blocks(view) is None),
    ("--section LaunchStats", lambda view: shape.sm_count(view) is None),
    ("--section Occupancy", lambda view: shape.theoretical_occupancy(view) is None),
    ("--section Occupancy", _limiters),
    (_SM_CYCLES, lambda view: shape.imbalance(view) is None),
    (_SM_CYCLES, lambda view: shape.activity(view) is None),
    ("--section WarpStateStats", lambda view: not warps.stalls(view)),
    ("--section WarpStateStats", lambda view: warps.threads(view) is None),
    ("--section SourceCounters", lambda view: traffic.waste(view) is None),
    ("--section SourceCounters", lambda view: traffic.conflicts(view) is None),
    ("--section SourceCounters", lambda view: traffic.local_instructions(view) is None),
    ("--section SourceCounters", lambda view: traffic.atomic_instructions(view) is None),
    (f"--metrics {traffic.ATOMIC_SLICE}", _spread_of_atomics),
    ("--section MemoryWorkloadAnalysis_Tables", _weight_of_local),
    ("--section SourceCounters", _kind_of_local),
    (f"--metrics {computed.CONSTANT_REQUESTS}", _passes_of_constants),
    ("--section MemoryWorkloadAnalysis_Tables", _levels_of_waste),
    ("--section MemoryWorkloadAnalysis_Tables", _masks),
    (f"--metrics {traffic.REMOTE}", _remote),
    (f"--metrics {host_memory.READ}", host_memory.unknown),
    ("--metrics dram__bytes_read.sum,dram__bytes_write.sum", _bytes_at_the_roof),
    ("--section SourceCounters", lambda view: mix.share(view, mix.FP32) is None),
)
"""What to add to ncu's command line, and where it is lacking: together, all that findings read."""


def lacking(view: KernelView) -> tuple[str, ...]:
    """Return what to capture so that each cause can be told or ruled out; empty if all is there."""
    return tuple(dict.fromkeys(option for option, absent in NEEDED if absent(view)))


def complete(view: KernelView) -> bool:
    """Return whether the report could have shown every cause."""
    return not any(absent(view) for _, absent in NEEDED)
