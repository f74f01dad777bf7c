"""Kernels are compiled, or their code is loaded, in the middle of the run.

It shows as idle time in calls that load a module or a library, in host code of the same gap, and in
ranges that a compiler names (harness.analysis.idle.causes, COMPILE). Once at the start is warm-up;
REPEATED gaps after it mean that shapes or constants change and each change compiles anew.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import thresholds
from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.analysis.diagnose.timeline_view import TimelineView
from harness.analysis.idle import causes as idle_causes
from harness.analysis.idle import host_calls

KIND = FindingKind(
    "compile-in-loop",
    "timeline",
    "The GPU waits while kernels are compiled or loaded in the middle of the run.",
    fix=(
        "compile for dynamic shapes, or pad inputs to a few shapes",
        "compile and load every kernel before the loop",
        "keep the compiler's cache between processes",
    ),
)
_NEXT = "log the causes of recompilation: TORCH_LOGS=recompiles, TRITON_KERNEL_DUMP=1"


def found(view: TimelineView) -> Iterator[Finding]:
    """Yield the idle time of compilation after the warm-up."""
    share, gaps = view.idle(idle_causes.COMPILE), view.count(idle_causes.COMPILE)
    if not view.repeats(idle_causes.COMPILE):
        return
    loads = view.called(host_calls.LOAD)
    evidence = (
        view.percent("idle while code is compiled or loaded", share, thresholds.MATTERS),
        view.number("gaps with such work", gaps, "", thresholds.REPEATED),
        view.number("modules loaded or unloaded", loads.height),
    )
    yield KIND.finding(
        view.where, evidence, share=share, gain=share, confidence=0.9, capture_next=(_NEXT,)
    )
