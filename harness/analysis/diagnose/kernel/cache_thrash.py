"""Data that are read again because a cache lost them in between.

From device memory: DRAM is busy, and more bytes are read from it than the process had mapped at all
(profiler__replayer_bytes_mem_accessible), so some were read twice. A stream that is read once looks
the same to hit rates, so they are no sign; mapped memory that the launch never touches hides
re-reading. From L2: L2 alone is near its ceiling, and the SMs read from it several times what came
from DRAM, and more than L2 holds: L1 and shared memory do not keep what is used again. What spilled
registers read (register-spills) does not count.
Source: the counter's description in NVIDIA's Kernel Profiling Guide, Replay.
Gain: until the bytes that are read once take as long as another part.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import computed, gain, resources, traffic

KIND = FindingKind(
    "cache-thrash",
    "SM",
    "The same data are read from device memory several times, because caches lose them in between.",
    fix=(
        "block the loops so that a working set fits in L2 or shared memory",
        "let neighbouring blocks share data (rasterisation, threadblock swizzle)",
        "keep the reused array in L2 (access policy window, eviction hints)",
    ),
)
_L2 = (resources.L2, resources.FABRIC)
_READ = (resources.DRAM, *_L2, resources.L1, resources.LSU)
"""What a read from device memory passes."""
MAPPED = "profiler__replayer_bytes_mem_accessible.avg"


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the bytes that were read again, from DRAM or else from L2, where that limits."""
    yield from _from_dram(view) if _mapped_reads(view) else _from_l2(view)


def _mapped_reads(view: KernelView) -> float:
    """Return the bytes read from DRAM by the bytes mapped, 0 where that is no sign."""
    read, mapped = computed.bytes_read(view), view.get(MAPPED)
    if not read or not mapped or view.use(resources.DRAM) < thresholds.AT_CEILING:
        return 0.0
    return read / mapped if read >= thresholds.REREAD * mapped else 0.0


def _from_dram(view: KernelView) -> Iterator[Finding]:
    times, busy = _mapped_reads(view), view.use(resources.DRAM)
    evidence = [
        view.evidence("bytes read from DRAM by bytes mapped", times, thresholds.REREAD, ""),
        view.evidence("DRAM use", busy * 100, thresholds.AT_CEILING * 100),
    ]
    hits = traffic.read_hit_rate(view)
    if hits is not None:
        evidence.append(view.evidence("L2 hit rate of reads", hits * 100))
    moved = computed.bytes_moved(view)
    again = (1 - 1 / times) * (computed.bytes_read(view) or 0.0)
    wasted = again / moved if moved else 1 - 1 / times
    yield view.finding(KIND, gain.at_the_ceiling(view, dict.fromkeys(_READ, wasted)), *evidence)


def _from_l2(view: KernelView) -> Iterator[Finding]:
    sectors, read = view.get("lts__t_sectors_srcunit_tex_op_read.sum"), computed.bytes_read(view)
    held = view.get("device__attribute_l2_cache_size")
    if not sectors or not read or not held:
        return
    shared = 1 - traffic.local_part_of_l2(view)
    times, busy = sectors * shared * 32 / max(read, held), view.use(*_L2) * shared
    if busy < max(thresholds.AT_CEILING, view.use_of_others(*_L2) + thresholds.CLOSE):
        return
    if times < thresholds.REUSE:
        return
    yield view.finding(
        KIND,
        gain.at_the_ceiling(view, dict.fromkeys(_L2, 1 - 1 / times)),
        view.evidence("bytes read from L2 by bytes read from DRAM", times, thresholds.REUSE, ""),
        view.evidence("L2 use", busy * 100, thresholds.AT_CEILING * 100),
        confidence=0.7,
    )
