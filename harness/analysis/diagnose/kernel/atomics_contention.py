"""Atomics of many threads on few addresses: the memory does them one after the other.

It shows in the busiest L2 slice, which spends its cycles on atomics while the average slice idles
(one address lies in one slice). Addresses of one sector, or types of 64 bits, take several cycles
each, of which the counter sees one: there the slice is busier than any part of the GPU is on
average, and every access of memory queues behind it, for many times as long as memory takes. Or it
shows in warps that wait for atomics for much of their time, as with
atomics of shared memory, whose conflicts L1 repeats. Source: the counter's place in the section
SpeedOfLight of Nsight Compute; NVIDIA, "CUDA C++ Programming Guide", Atomic Functions.
Gain: where a slice is so busy, all of the room that other parts leave, as the launch waits for the
slice; else the time at atomics, as far as there is room.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import mix, resources, traffic, waits

KIND = FindingKind(
    "atomics-contention",
    "SM",
    "Many threads update the same few addresses by atomics, which are done one after the other.",
    fix=(
        "reduce within the warp and the block first, then one atomic per block",
        "one private copy a warp or a block, merged at the end",
        "sort or segment the updates",
    ),
)
_WAIT = "wait for memory by each access"
_DONE_BY = tuple(part for part in resources.MEMORY if part != resources.DRAM)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the time spent on atomics, where it is much."""
    busiest, waiting = view.get(traffic.ATOMIC_SLICE), waits.share(view, mix.ATOMIC)
    if traffic.atomic_instructions(view) == 0:
        return
    slices, samples = (busiest or 0.0) / 100, waiting or 0.0
    full, queue = slices >= thresholds.ATOMIC_SLICE, _queue(view, slices)
    if not full and not queue and samples < thresholds.AT_ATOMICS:
        return
    evidence = []
    if busiest is not None:
        least = thresholds.ATOMIC_SLICE * 100 if full else None
        evidence.append(view.evidence(traffic.ATOMIC_SLICE, busiest, least))
    if queue:
        evidence.append(view.evidence(_WAIT, queue, thresholds.QUEUED, "cycle"))
    if waiting is not None:
        least = None if full or queue else thresholds.AT_ATOMICS * 100
        evidence.append(view.evidence("samples of warps at atomics", waiting * 100, least))
    room = 1 - view.use_of_others(*_DONE_BY)
    yield view.finding(KIND, min(1.0 if full or queue else samples, room), *evidence)


def _queue(view: KernelView, slices: float) -> float | None:
    """Return how long an access waits, where that is long and the busiest slice the busiest part.

    ``slices``: the cycles that the busiest slice spends on atomics, as a fraction.
    """
    cycles = waits.for_memory(view)
    if cycles is None or cycles < thresholds.QUEUED or not view.top or view.top.use >= slices:
        return None
    return cycles
