"""Atomics of many threads on few addresses: the memory does them one after the other.

It shows in the busiest L2 slice, which spends its cycles on atomics while the average slice idles
(one address lies in one slice), or in warps that wait for atomics for much of their time, as with
atomics of shared memory, whose conflicts L1 repeats. Source: the counter's place in the section
SpeedOfLight of Nsight Compute; NVIDIA, "CUDA C++ Programming Guide", Atomic Functions.
Gain: that time, as far as other parts leave room.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, Kind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import mix, resources, traffic, waits

KIND = Kind(
    "atomics-contention",
    "SM",
    "Many threads update the same few addresses by atomics, which are done one after the other.",
    fix=(
        "reduce within the warp and the block first, then one atomic a block",
        "one private copy a warp or a block, merged at the end",
        "sort or segment the updates",
    ),
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the time spent on atomics, where it is much."""
    count = traffic.atomic_instructions(view)
    busiest = view.get(traffic.ATOMIC_SLICE)
    waiting = waits.share(view, mix.ATOMIC)
    if count == 0:
        return
    busy = max((busiest or 0.0) / 100, waiting or 0.0)
    if (busiest or 0.0) / 100 < thresholds.ATOMIC_SLICE and (waiting or 0.0) < thresholds.WAITS:
        return
    evidence = []
    if busiest is not None:
        evidence.append(view.evidence(traffic.ATOMIC_SLICE, busiest, thresholds.ATOMIC_SLICE * 100))
    if waiting is not None:
        name = "samples of warps at atomics"
        evidence.append(view.evidence(name, waiting * 100, thresholds.WAITS * 100))
    room = 1 - view.use_of_others(*resources.MEMORY)
    yield view.finding(KIND, min(busy, room), *evidence)
