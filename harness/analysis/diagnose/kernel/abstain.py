"""Said of the launch where its evidence decides nothing: what to capture instead.

Where the report lacks evidence, the time that nothing explains is at stake: a lesser cause that can
be seen must not pass for the main one.
"""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import ABSTAIN, Finding, FindingKind
from harness.analysis.diagnose.kernel_view import TIME, KernelView
from harness.analysis.diagnose.launch import residual, resources, shape
from harness.analysis.diagnose.launch.lacking import lacking

KIND = FindingKind(ABSTAIN, "SM", "The evidence does not say what limits this.")
_MORE = ("capture with --set full", "capture the program's timeline with nsys")
_BRIEF = ("capture the program's timeline with nsys: the launch is little but its start and end",)


def found(view: KernelView) -> Iterator[Finding]:
    """Yield that the evidence does not decide, and the sections that would."""
    needed = tuple(f"capture {each}" for each in lacking(view))
    if view.get(TIME) and shape.brief(view):
        needed = _BRIEF
    top = view.top
    evidence = [view.evidence(f"busiest part: {top.name}", top.use * 100)] if top else []
    if busy := resources.while_busy(view):
        name, percent = busy
        evidence.append(view.evidence(f"{name}, of the cycles in which SMs were busy", percent))
    where = f"launch {view.launch}"
    yield KIND.finding(
        where,
        tuple(evidence),
        share=residual.unexplained(view) if needed and top else None,
        confidence=0.0,
        kernel=view.name,
        capture_next=needed or _MORE,
    )
