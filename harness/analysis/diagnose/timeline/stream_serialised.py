"""Kernels of several streams run one after another, although they would fit side by side.

It shows where streams alternate: a kernel had been launched, its own stream was free, and it
started only as another stream's turn ended. Of both turns those kernels count whose grids take at
most SMALL_GRID of the multiprocessors, for the shorter time of the two. The default stream, an
event after each kernel, or a shared workspace does that. The gain is what overlaps if as many such
kernels run at once as there are streams and room.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.serialised_streams import perhaps_serialised_ns
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = FindingKind(
    "stream-serialised",
    "timeline",
    "Kernels of several streams run one after another, although they would fit side by side.",
    fix=(
        "take the work off the default stream, which waits for all others",
        "remove events and synchronisation between streams that need none",
        "launch the streams' kernels in turns, or as branches of one CUDA graph",
    ),
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the time of kernels that waited for another stream's small kernel."""
    for track in view.tracks:
        known = track.multiprocessors is not None
        waited = track.serialised
        if waited.kernels < thresholds.REPEATED:
            continue
        share = view.fraction(waited.total_ns)
        evidence = (
            view.percent("time in such kernels", share, thresholds.MATTERS),
            view.number("streams", waited.streams, "", 2),
            view.number("kernels that waited", waited.kernels, "", thresholds.REPEATED),
        )
        gain = share * (1 - 1 / waited.at_once)
        yield KIND.finding(
            track.where, evidence, share=share, gain=gain, confidence=0.8 if known else 0.6
        )


def undecided(view: TimelineView) -> float:
    """Return the fraction of the time for which the finding needs grids that are not recorded."""
    return view.fraction(sum(perhaps_serialised_ns(track.ops, track.room) for track in view.tracks))
