"""Traffic between SMs (distributed shared memory), or between the halves of L2, that limits.

It shows in bytes that reach SMs from other SMs' shared memory, while that path is busy or warps
wait for it, or in the L2 fabric as the part nearest to its ceiling. Source: NVIDIA, "CUDA C++
Programming Guide", Distributed Shared Memory; Kernel Profiling Guide, L2 fabric.
Gain: the path's busy time, or the time in which warps wait for it, times its part of the bytes.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import kernel_thresholds as thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.kernel_view import KernelView
from harness.analysis.diagnose.launch import bound, gain, resources, traffic, warps

KIND = FindingKind(
    "inter-sm-traffic",
    "SM",
    "Data travel between SMs, or between the halves of L2, and that path limits the launch.",
    fix=(
        "copy what a block reads into its own shared memory once (multicast)",
        "exchange partial results in larger pieces, and less often",
        "let blocks of one half of L2 share data",
    ),
)
_ALL = "l1tex__m_xbar2l1tex_read_bytes.sum"


def found(view: KernelView) -> Iterator[Finding]:
    """Yield the traffic between SMs, then that between L2's halves."""
    remote, read = view.get(traffic.REMOTE), view.get("lts__t_sectors_srcunit_tex_op_read.sum")
    whole = view.get(_ALL)
    if whole is None and remote is not None and read is not None:
        whole = remote + read * 32
    if remote and whole:
        part = remote / whole
        waits = warps.waiting(view, "long_scoreboard", "lg_throttle", "short_scoreboard")
        busy = max(view.use(resources.DSHARED), waits)
        if part >= thresholds.REMOTE_PART and busy >= thresholds.WAITS:
            yield view.finding(
                KIND,
                gain.of_less_work(view, (resources.DSHARED, resources.L2), part, busy),
                view.evidence(traffic.REMOTE, remote, thresholds.REMOTE_PART * whole, "byte"),
                view.evidence("path busy or waited for", busy * 100, thresholds.WAITS * 100),
            )
            return
    for path in (resources.DSHARED, resources.FABRIC):
        yield from bound.avoidable(view, KIND, (path,), 1.0)
