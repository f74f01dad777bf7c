"""The device runs dry because the host waits for it, again and again.

It shows as idle time that begins while the host is in a synchronising call, or in a copy that
returns when it is done (``.item()``, ``.cpu()``, cudaStreamSynchronize), and lasts until the host
has launched again (harness.analysis.idle.causes, SYNCHRONISE). Without the waits the host could run
ahead, so that the longer of its own work and the device's would decide: that bounds the gain.
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.analysis.diagnose import thresholds, timeline_evidence, waited_for
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_torch
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_calls

KIND = FindingKind(
    "host-sync",
    "timeline",
    "The GPU runs dry because the host keeps waiting for it.",
    fix=(
        "keep results on the device" + for_torch(": no .item(), .cpu() or print in the loop"),
        "copy results asynchronously into pinned memory and read them a step later",
        "replace device-wide synchronisation by events between streams",
    ),
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the idle time that blocking calls cause."""
    share, gaps = view.idle(idle_causes.SYNCHRONISE), view.count(idle_causes.SYNCHRONISE)
    if not view.repeats(idle_causes.SYNCHRONISE):
        return
    most = [
        min(
            track.idle_ns(idle_causes.SYNCHRONISE),
            max(track.span_ns - max(track.host_ns, track.busy_ns), 0),
        )
        for track in view.tracks
    ]
    waits = view.called(host_calls.SYNCHRONISE)
    results, awaited = waited_for.told(view)
    evidence = (
        view.percent("idle after the host waited for the GPU", share, thresholds.MATTERS),
        *results,
        *timeline_evidence.profilers_part(view, idle_causes.SYNCHRONISE),
        view.number("gaps that follow such a wait", gaps, "", thresholds.REPEATED),
        view.number("synchronising calls", waits.height),
    )
    finding = KIND.finding(
        view.where,
        evidence,
        share=share,
        gain=view.fraction(sum(most)),
        confidence=timeline_evidence.confidence(view, idle_causes.SYNCHRONISE),
    )
    if awaited is not None:
        finding = replace(finding, title=awaited.title, fix=(*awaited.fix, *finding.fix))
    yield finding
