"""The device waits for copies whose host memory is pageable.

The driver stages such a copy through its own pinned buffer, on the CPU, and the host is blocked
meanwhile (CUDA Runtime API, "API synchronization behavior"). It shows as copies of a memory kind
"Pageable", larger than SMALL_BYTES, during which no kernel runs, and as idle time after them.
Smaller copies cost their synchronisation: host-sync. Copies from pinned memory are serialised-copy.
Where even pinned copies would last COPY_BOUND times as long as all kernels, the data have to stay
on the device: that comes first among the fixes then, and gains the whole time.
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.analysis import copies
from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_torch
from harness.analysis.idle import causes as idle_causes

KIND = FindingKind(
    "pageable-copy",
    "timeline",
    "The GPU waits while the host copies from or to pageable memory.",
    fix=(
        "allocate the host's buffers pinned (" + for_torch("pin_memory=True, ") + "cudaMallocHost)",
        "copy "
        + for_torch("with non_blocking=True ", otherwise="asynchronously ")
        + "on a stream of its own while kernels run",
        "keep the data on the device",
    ),
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time in which only such copies ran, or the device waited for their host side."""
    rows = view.large_copies((copies.PAGEABLE,))
    alone = sum(track.alone_ns(part) for track, part in rows)
    share = view.fraction(alone) + view.idle(idle_causes.PAGEABLE)
    if not alone:
        return
    bytes_, total = (sum(int(part[c].sum()) for _, part in rows) for c in ("bytes", "duration_ns"))
    compute = sum(track.compute_ns for track in view.tracks)
    pinned = sum(int(part["bytes"].sum()) / track.pinned_rate * 1e9 for track, part in rows)
    copy_bound = pinned > thresholds.COPY_BOUND * compute
    kept = 0 if copy_bound else max(pinned - compute, 0)
    rate = min(track.pinned_rate for track, _ in rows)
    measured = bytes_ / total, "GB/s"
    evidence = (
        view.percent("time in pageable copies alone", share, thresholds.MATTERS),
        view.number(f"their rate; pinned memory reaches about {rate / 1e9:.0f} GB/s", *measured),
        view.number("their bytes", bytes_ / 1e6, "MB"),
    )
    gain = max(share - view.fraction(kept), 0)
    finding = KIND.finding(view.where, evidence, share=share, gain=gain, confidence=0.95)
    *others, stay = KIND.fix
    yield replace(finding, fix=(stay, *others)) if copy_bound else finding
