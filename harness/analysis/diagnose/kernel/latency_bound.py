"""Warps that wait for results, with too few independent instructions to fill the time.

It remains where nothing is at its ceiling and all other causes could be seen and were not. Which
latency it is says the reason for which warps wait: long scoreboard (device or local memory), short
scoreboard (shared memory, special functions), wait (the fixed latency of dependent arithmetic).
Where many blocks end as soon as they have begun, the title and the remedies are those of too little
work in a block; where warps wait for memory by 1 or 2 bytes per thread, those of narrow accesses,
whatever the blocks do.
Source: NVIDIA, Kernel Profiling Guide, Warp Scheduler States; the 60 % of its rule SOLBottleneck.
Gain: the time in which not even the busiest part was busy, less what other
causes explain, times the part of it spent on waiting.
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import narrow, occupancy, residual, shape, warps

KIND = FindingKind(
    "latency-bound",
    "warp scheduler",
    "Warps wait for latency, and no part of the GPU is near its ceiling.",
    fix=(
        "more loads in flight: unrolling, vector loads, multistage pipelines (cp.async, TMA)",
        "independent chains of arithmetic in a thread (ILP)",
        "more warps, if registers and shared memory allow",
    ),
)
_LITTLE_WORK = (
    "Thread blocks have too little work each: they end after a trip or two to memory,"
    " and warps wait for latency."
)
_MORE_WORK = (
    "several rows, tiles or elements per block, their loads in flight together",
    "as many blocks as fit on the GPU, each in a loop over its part (grid-stride, persistent)",
    "fewer warps per block, where most threads have nothing to do",
)
_OF_MEMORY = ("long_scoreboard", "lg_throttle")
_LIMITERS = ("registers", "shared_mem")


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the time spent on waiting, unless barriers or occupancy are the cause of it."""
    states = warps.stalls(view)
    rest = residual.left(view)
    if not states or rest is None or warps.wait_most_for_barriers(view):
        return
    if any(occupancy.raised(view, limiter) for limiter in _LIMITERS):
        return
    waiting = {reason: part for reason, part in states.items() if reason not in warps.RUNNING}
    top = view.top
    evidence = [
        view.evidence(f"warps' cycles: {reason}", part * 100)
        for reason, part in sorted(waiting.items(), key=lambda item: -item[1])[:3]
    ]
    if top:
        ceiling = thresholds.AT_CEILING * 100
        evidence.append(view.evidence(f"busiest part: {top.name}", top.use * 100, ceiling))
    work = _work_of_a_warp(view)
    finding = view.finding(KIND, rest * sum(waiting.values()), *work, *evidence, confidence=0.8)
    if work:
        finding = replace(finding, title=_LITTLE_WORK, fix=_MORE_WORK)
    of_memory = max(waiting, key=lambda reason: waiting[reason]) in _OF_MEMORY
    yield narrow.told(view, finding) if of_memory else finding


def _work_of_a_warp(view: KernelView) -> tuple[Evidence, ...]:
    """Return how little the warps of many blocks do; nothing where they do more, or are few."""
    executed, cycles, waves = warps.instructions(view), warps.life(view), shape.waves(view)
    if executed is None or cycles is None or waves is None:
        return ()
    if cycles >= thresholds.BRIEF_LIFE or waves < thresholds.MANY_WAVES:
        return ()
    return (
        view.evidence("life of a warp", cycles, thresholds.BRIEF_LIFE, "cycle"),
        view.evidence("instructions per warp", executed, None, ""),
        view.evidence("launch__waves_per_multiprocessor", waves, thresholds.MANY_WAVES, ""),
    )
