"""The device waits because the host launches kernels one by one, slower than they run.

It shows as idle time while the host is in launch calls, or between two calls for no longer than a
dispatch takes (harness.analysis.idle.causes, LAUNCH), and as kernels that start within a few µs of
their launch. A host that does other work between launches is host-bound; a host that was blocked
before is a synchronisation. A chain of launches, not a few at the start of a step, makes it count.
A CUDA graph would keep GRAPH_GAP_NS a kernel, and a launch for each wait of the host, which it
cannot hold.
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.analysis.diagnose import idle_places, optimizer, thresholds, timeline_evidence
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_eager, for_torch
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_calls

KIND = FindingKind(
    "launch-bound",
    "timeline",
    "The GPU waits for launches: the host launches kernels slower than they run.",
    fix=(
        "replay the launches as a CUDA graph",
        "fuse small kernels"
        + for_torch(" (" + for_eager("torch.compile, ") + "foreach operators)"),
        "give each kernel more work, such as a larger batch",
    ),
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the idle time in which the host only launched."""
    share, gaps = view.idle(idle_causes.LAUNCH), view.count(idle_causes.LAUNCH)
    if not view.repeats(idle_causes.LAUNCH) or timeline_evidence.may_be_recording(view):
        return
    launches, waits = (
        view.called(kind).height for kind in (host_calls.LAUNCH, host_calls.SYNCHRONISE)
    )
    relaunched = share * min(waits / launches, 1.0) if launches else 0.0
    updates, fixes = optimizer.told(view)
    left = view.fraction(gaps * thresholds.GRAPH_GAP_NS) + relaunched
    evidence = (
        view.percent("idle while the host launches", share, thresholds.MATTERS),
        *updates,
        *timeline_evidence.guards(view),
        *idle_places.mostly_before(view, idle_causes.LAUNCH),
        *timeline_evidence.profilers_part(view, idle_causes.LAUNCH),
        view.number("gaps in which the host only launches", gaps, "", thresholds.REPEATED),
        *timeline_evidence.kernel_evidence(view),
    )
    finding = KIND.finding(
        view.where,
        evidence,
        share=share,
        gain=max(share - left, 0),
        confidence=timeline_evidence.confidence(view, idle_causes.LAUNCH),
    )
    yield replace(finding, fix=(*fixes, *finding.fix))
