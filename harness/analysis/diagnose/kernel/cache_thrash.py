"""Data that are read from device memory again because L2 lost them in between.

It shows where DRAM is busy and more bytes are read from it than the process had mapped at all
(profiler__replayer_bytes_mem_accessible): then some were read twice. A stream that is read once
looks the same to hit rates, so they are no sign. Mapped memory that the launch never touches hides
re-reading: the finding has no false alarm, but misses.
Source: the counter's description in NVIDIA's Kernel Profiling Guide, Replay.
Gain: DRAM's busy time, times the bytes that were read again.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, Kind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import computed, gain, resources, traffic

KIND = Kind(
    "cache-thrash",
    "SM",
    "The same data are read from device memory several times, because caches lose them in between.",
    fix=(
        "block the loops so that a working set fits in L2 or shared memory",
        "let neighbouring blocks share data (rasterisation, threadblock swizzle)",
        "keep the reused array in L2 (access policy window, eviction hints)",
    ),
)
_MAPPED = "profiler__replayer_bytes_mem_accessible.avg"


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bytes that were read again, where DRAM limits the launch."""
    read, mapped = computed.bytes_read(view), view.get(_MAPPED)
    busy = view.use(resources.DRAM)
    if not read or not mapped or busy < thresholds.AT_CEILING:
        return
    if read < thresholds.REREAD * mapped:
        return
    evidence = [
        view.evidence("bytes read from DRAM by bytes mapped", read / mapped, thresholds.REREAD, ""),
        view.evidence("DRAM use", busy * 100, thresholds.AT_CEILING * 100),
    ]
    hits = traffic.read_hit_rate(view)
    if hits is not None:
        evidence.append(view.evidence("L2 hit rate of reads", hits * 100))
    wasted = 1 - mapped / read
    yield view.finding(KIND, gain.of_less_work(view, (resources.DRAM,), wasted, busy), *evidence)
