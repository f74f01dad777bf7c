"""Copies between host and device run while no kernel does, although their memory is pinned.

Pinned memory is copied by engines of their own, beside kernels, if copy and kernels are in
different streams and do not wait for each other. It shows as the time in which only such copies
ran. What can be hidden is at most the kernels' time; copies that last COPY_BOUND times as long have
to become fewer. Copies of pageable memory are pageable-copy; of unknown memory they are not judged.
"""

from collections.abc import Iterator

from harness.analysis import copies
from harness.analysis.diagnose import thresholds
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
    rows = view.large_copies((copies.PINNED, copies.MANAGED))
    pageable = (copies.PAGEABLE,)
    alone = sum(track.alone_ns(part, besides=pageable) for track, part in rows)
    if not alone:
        return
    total = sum(int(part["duration_ns"].sum()) for _, part in rows)
    compute = sum(track.compute_ns for track in view.tracks)
    within = sum(track.alone_ns(part, besides=pageable, within=True) for track, part in rows)
    hidden = alone if total > thresholds.COPY_BOUND * compute else min(within, compute)
    evidence = (
        view.percent("time in copies alone", view.fraction(alone), thresholds.MATTERS),
        view.percent("time in which kernels ran", view.compute),
        view.number("copied", sum(int(part["bytes"].sum()) for _, part in rows) / 1e6, "MB"),
    )
    yield KIND.finding(
        view.where,
        evidence,
        share=view.fraction(alone),
        gain=view.fraction(hidden),
        confidence=0.95,
    )
