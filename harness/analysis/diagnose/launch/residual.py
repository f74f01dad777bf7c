"""The rest of a launch's time, without the causes that have signs of their own."""

from harness.analysis.diagnose import kernel_thresholds
from harness.analysis.diagnose.families import FindingModule
from harness.analysis.diagnose.kernel import (
    atomics_contention,
    bank_conflicts,
    cache_thrash,
    constant_divergence,
    fp64_bound,
    frequent_barriers,
    global_sums,
    grid_barrier,
    host_memory_traffic,
    inter_sm_traffic,
    local_arrays,
    register_spills,
    slow_range_reduction,
    tail_effect,
    tensor_cores_unused,
    tile_quantisation,
    too_few_blocks,
    uncoalesced,
    warp_divergence,
)
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import lacking, shape, warps
from harness.analysis.diagnose.thresholds import MATTERS

_SPECIFIC: tuple[FindingModule[KernelView], ...] = (
    uncoalesced,
    cache_thrash,
    bank_conflicts,
    warp_divergence,
    constant_divergence,
    local_arrays,
    register_spills,
    global_sums,
    slow_range_reduction,
    atomics_contention,
    host_memory_traffic,
    too_few_blocks,
    tail_effect,
    tile_quantisation,
    inter_sm_traffic,
    tensor_cores_unused,
    fp64_bound,
    frequent_barriers,
    grid_barrier,
)
"""The findings whose waits would otherwise be taken for latency."""


def left(view: KernelView) -> float | None:
    """Return the fraction of time that no part was busy and no other cause explains.

    None if a part is at its ceiling, if schedulers have warps that are ready all the time, if
    another cause could not have been seen, if the launch is brief, or if less is left than matters.
    """
    if view.top is None or view.top.use >= kernel_thresholds.AT_CEILING or never_idle(view):
        return None
    if shape.brief(view) or not lacking.complete(view):
        return None
    rest = unexplained(view)
    return rest if rest >= MATTERS else None


def unexplained(view: KernelView) -> float:
    """Return the fraction of time that no part was busy and no specific finding explains."""
    explained = sum((each.stake for module in _SPECIFIC for each in module.found(view)), 0.0)
    return max(0.0, slack(view) - explained)


def slack(view: KernelView) -> float:
    """Return the fraction of time in which not even the busiest part was busy."""
    return max(0.0, 1 - view.top.use) if view.top else 1.0


def never_idle(view: KernelView) -> bool:
    """Return whether schedulers always have warps that are ready: dispatch limits, not latency."""
    ready = warps.ready(view)
    return ready is not None and ready >= kernel_thresholds.READY
