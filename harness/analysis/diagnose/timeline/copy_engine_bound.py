"""Copies between host and device fill the link for longer than all kernels run.

However well they overlap, the program lasts as long as the copies of the fuller direction
(harness.analysis.diagnose.copy_time), and only fewer bytes make it faster. It shows as copies at
LINK_FULL of the rate that pinned memory has, for longer than the kernels. What overlap could still
hide is serialised-copy. The gain is what the copies last longer than the kernels: with fewer bytes
than that, the kernels set the time.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import copy_time, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = FindingKind(
    "copy-engine-bound",
    "timeline",
    "Copies fill the link between host and GPU for longer than kernels run.",
    fix=(
        "send a smaller type, such as the bytes of an image, and convert it on the GPU",
        "keep on the device what is sent again and again",
        "compress what is sent, or decode it on the GPU",
    ),
    broader="serialised-copy",
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time by which copies at the link's rate last longer than the kernels."""
    pairs = [(track, copy_time.of(track)) for track in view.tracks]
    bound = [(track, time) for track, time in pairs if time.excess_ns]
    if not bound:
        return
    share = view.fraction(sum(time.excess_ns for _, time in bound))
    track, slowest = min(bound, key=lambda pair: pair[1].rate)
    full = thresholds.LINK_FULL * track.pinned_rate
    evidence = (
        view.percent("time that copies last longer than kernels", share, thresholds.MATTERS),
        view.number(
            "their rate; a full link has the threshold or more",
            slowest.rate / 1e9,
            "GB/s",
            full / 1e9,
        ),
        view.number("copied", sum(time.bytes for _, time in bound) / 1e6, "MB"),
        view.percent("time in which kernels ran", view.compute),
    )
    yield KIND.finding(view.where, evidence, share=share, gain=share, confidence=0.9)
