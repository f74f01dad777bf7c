"""The device waits because the host computes something else before it launches.

It shows as idle time while the launching thread is outside CUDA for longer than launches take
(harness.analysis.idle.causes, HOST, LONG_NS): Python, an operator's dispatch, a tokeniser. Idle
time in a range of data loading is data-starved; if a blocking call emptied the queue and the host
could otherwise run ahead, it is host-sync.
"""

from collections.abc import Iterator
from dataclasses import replace

from harness.analysis.diagnose import (
    cpu_operators,
    host_code,
    idle_places,
    interpreter_lock,
    optimizer,
    thresholds,
    timeline_evidence,
)
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.hint import for_eager, for_nvidia, for_torch
from harness.analysis.idle import causes as idle_causes

REPLAY = for_eager(
    "compile the step (torch.compile) or replay it as a CUDA graph",
    otherwise="replay the step as a CUDA graph",
)
KIND = FindingKind(
    "host-bound",
    "timeline",
    "The GPU waits while the host runs code outside CUDA.",
    fix=(
        "take the host's code out of the loop, or onto another thread",
        REPLAY,
        "give the GPU more work per call, such as a larger batch",
    ),
)
_RESULTS = "The GPU waits while the host works on results that it copied back."
_RESULTS_FIX = (
    "do that work on the GPU, and copy back its result alone",
    "hand the results to another process, so that the GPU's next batch can begin",
)
_INPUTS = "The GPU waits while the host makes the inputs that it copies next."
_INPUTS_FIX = (
    "make inputs ahead of the GPU, in other processes or on a thread that need not hold the "
    "interpreter's lock",
    "do that work on the GPU: copy what it needs instead of what it makes",
)
_MOST = 0.5
"""Of the host's time: with less, it works as long on something else."""
_NEXT = (
    "sample the host's stacks ("
    + for_torch("py-spy, ")
    + for_nvidia("nsys --sample=cpu", otherwise="perf record -g")
    + for_torch(", torch.profiler with_stack")
    + ")"
)


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the idle time in which the host was busy outside CUDA."""
    share = view.idle(idle_causes.HOST)
    if not view.repeats(idle_causes.HOST):
        return
    reasons = _reasons(view)
    sure = any(each.sure for each in reasons)
    if not sure and timeline_evidence.may_be_recording(view):
        return
    code_ns = timeline_evidence.host_code_ns(view)
    updates, update_fixes = optimizer.told(view)
    evidence = [
        view.percent("idle while the host is outside CUDA", share, thresholds.MATTERS),
        *(number for each in reasons for number in each.evidence),
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
        capture_next=() if sure or host_code.has_frames(view) else (_NEXT,),
    )
    fixes = [fix for each in reasons for fix in each.fix]
    usual = () if any(each.alone for each in reasons) else finding.fix
    titles = [each.title for each in reasons if each.title] or [finding.title]
    yield replace(finding, title=titles[0], fix=(*fixes, *update_fixes, *usual))


def _reasons(view: TimelineView) -> list[host_code.Reason]:
    """Return reasons in the host's code: its lock, the code that runs, the work between copies.

    Work between copies counts only where nothing else is known.
    """
    told = (interpreter_lock.told(view), host_code.told(view), cpu_operators.told(view))
    known = [each for each in told if each is not None]
    if known:
        return known[:1] if known[0].alone else known
    after, before = idle_places.beside_copies(view, idle_causes.HOST)
    if after >= _MOST:
        return [host_code.Reason((), _RESULTS_FIX, _RESULTS, sure=False)]
    if before >= _MOST:
        return [host_code.Reason((), _INPUTS_FIX, _INPUTS, sure=False)]
    return []
