"""The device waits because the host computes something else before it launches.

It shows as idle time while the launching thread is outside CUDA for longer than launches take
(harness.analysis.idle.causes, HOST, LONG_NS): Python, an operator's dispatch, a tokeniser. Idle
time in a range of data loading is data-starved; if a blocking call emptied the queue and the host
could otherwise run ahead, it is host-sync.
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.analysis.diagnose import (
    host_code,
    idle_places,
    optimizer,
    thresholds,
    timeline_evidence,
)
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.idle import causes as idle_causes

KIND = FindingKind(
    "host-bound",
    "timeline",
    "The GPU waits while the host runs code outside CUDA.",
    fix=(
        "take the host's code out of the loop, or onto another thread",
        "compile the step (torch.compile) or replay it as a CUDA graph",
        "give the GPU more work a call, such as a larger batch",
    ),
)
_NEXT = "sample the host's stacks (py-spy, nsys --sample=cpu, torch.profiler with_stack)"


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the idle time in which the host was busy outside CUDA."""
    share = view.idle(idle_causes.HOST)
    if not view.repeats(idle_causes.HOST):
        return
    code, fixes = host_code.told(view)
    if not code and timeline_evidence.may_be_recording(view):
        return
    code_ns = timeline_evidence.host_code_ns(view)
    updates, update_fixes = optimizer.told(view)
    evidence = [
        view.percent("idle while the host is outside CUDA", share, thresholds.MATTERS),
        *code,
        *updates,
        *timeline_evidence.guards(view),
        *idle_places.mostly_before(view, idle_causes.HOST),
        *timeline_evidence.profilers_part(view, idle_causes.HOST),
    ]
    if code_ns is not None:
        limit = idle_causes.LONG_NS / 1e3
        evidence.append(
            view.number("median of the host's code between CUDA calls", code_ns / 1e3, "µs", limit)
        )
    evidence += timeline_evidence.kernel_evidence(view)
    finding = KIND.finding(
        view.where,
        tuple(evidence),
        share=share,
        gain=share,
        confidence=timeline_evidence.confidence(view, idle_causes.HOST),
        capture_next=() if code else (_NEXT,),
    )
    yield replace(finding, fix=(*fixes, *update_fixes, *finding.fix))
