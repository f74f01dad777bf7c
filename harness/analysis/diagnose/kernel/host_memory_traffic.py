"""A kernel whose SMs read or write host memory: pinned (zero copy), or managed that stays there.

Each access crosses the link to the host, which carries a fiftieth of what device memory does, with
several times its latency. It shows in two ways: bytes from or to the host take AT_CEILING of the
rate that the link has, or warps wait for memory, HOST_MISSES of the sectors that L2 had to fetch
came from the host, and these are no exception among what SMs read (HOST_READS). Managed pages that
migrate when they are touched are no such accesses: a timeline shows them as copies.
Gain: the time that the link was full, or that warps waited for it, down to the busiest other part.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Evidence, Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import gain, host_memory, warps

KIND = FindingKind(
    "host-memory-traffic",
    "SM",
    "The kernel reads or writes the host's memory, over the link between host and GPU.",
    fix=(
        "copy what is read more than once to the device, before the kernel runs",
        "cache the rows that are used most in device memory",
        "send what is used once ahead, on a stream of its own, in a smaller type",
    ),
    broader="latency-bound",
)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the time in which the link to the host was full or waited for."""
    link, numbers = _link(view)
    waits, others = _waits(view)
    if link or waits:
        cost = gain.of_less_work(view, (), 1.0, max(link, waits))
        yield view.finding(KIND, cost, *numbers, *others)


def _link(view: KernelView) -> tuple[float, tuple[Evidence, ...]]:
    """Return the use of the link to the host where that is near its ceiling, and the evidence."""
    rate, ceiling = host_memory.rate(view), host_memory.link_rate(view)
    if rate is None or ceiling is None or rate < thresholds.AT_CEILING * ceiling:
        return 0.0, ()
    least = thresholds.AT_CEILING * ceiling / 1e9
    return min(1.0, rate / ceiling), (view.evidence("host memory", rate / 1e9, least, "GB/s"),)


def _waits(view: KernelView) -> tuple[float, tuple[Evidence, ...]]:
    """Return the part of the warps' cycles that waits for host memory, and the evidence."""
    part, of_reads = host_memory.part_of_misses(view), host_memory.part_of_reads(view)
    waits = warps.waiting(view, "long_scoreboard", "lg_throttle")
    if part is None or of_reads is None or waits < thresholds.WAITS:
        return 0.0, ()
    if part < thresholds.HOST_MISSES or of_reads < thresholds.HOST_READS:
        return 0.0, ()
    limits = thresholds.HOST_MISSES * 100, thresholds.HOST_READS * 100
    return waits * part, (
        view.evidence("L2's fetches that go to host memory", part * 100, limits[0]),
        view.evidence("sectors read that come from host memory", of_reads * 100, limits[1]),
    )
