"""Copies between host and device run while no kernel does, although their memory is pinned.

Pinned memory is copied by engines of their own, beside kernels, if copy and kernels are in
different streams and do not wait for each other. It shows as the time in which only such copies
ran. Kernels could hide some of it (harness.analysis.diagnose.copy_time); what they could not, while
the link is full, is copy-engine-bound. Slower copies that last COPY_BOUND times as long as the
kernels have to become fewer or larger. Copies of pageable memory are pageable-copy; of unknown
memory they are not judged.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import copy_time, thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = FindingKind(
    "serialised-copy",
    "timeline",
    "Copies between host and GPU run while no kernel does.",
    fix=(
        "copy on a stream of its own, one batch ahead of the kernels",
        "copy less: keep the data on the device, or in a smaller type",
    ),
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time in which only copies of memory that is not pageable ran."""
    times = [copy_time.of(track) for track in view.tracks]
    excess = sum(each.excess_ns for each in times)
    alone = sum(each.alone_ns for each in times) - excess
    if not alone:
        return
    total = sum(each.total_ns for each in times)
    compute = sum(track.compute_ns for track in view.tracks)
    slow = not excess and total > thresholds.COPY_BOUND * compute
    hidden = alone if slow else sum(each.hideable_ns for each in times)
    evidence = (
        view.percent("time in copies alone", view.fraction(alone), thresholds.MATTERS),
        view.percent("time in which kernels ran", view.compute),
        view.number("copied", sum(each.bytes for each in times) / 1e6, "MB"),
    )
    yield KIND.finding(
        view.where,
        evidence,
        share=view.fraction(alone),
        gain=view.fraction(hidden),
        confidence=0.95,
    )
