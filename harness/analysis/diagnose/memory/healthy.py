"""Said of a snapshot most of whose reserved bytes are in use at the peak, and in which none grow.

A history that begins late tells as much of what it recorded, but not who holds what stood before:
the finding says how much that is.
"""

from collections.abc import Iterator

from harness.analysis.diagnose import memory_thresholds, thresholds
from harness.analysis.diagnose.finding import HEALTHY, Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView

KIND = FindingKind(HEALTHY, "memory", "What is reserved is what the program needs at its peak.")


_NEXT = "record from before the model is made, to see by line what was held before the recording"
_MORE = "record whole steps, to see whether what was asked for to the end is freed"
_LESS_SURE = 0.6


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield it if no large part of what is reserved lies unused in the measured steps."""
    unused = view.part(view.unused)
    lacks = not view.recorded or view.failed.height or view.grows
    if lacks or unused >= memory_thresholds.UNUSED:
        return
    evidence = [
        view.size("peak of reserved bytes", view.peak),
        view.size(
            "of it in segments that the measured steps never needed",
            view.unused,
            memory_thresholds.UNUSED * view.peak,
        ),
    ]
    if view.late:
        evidence.append(view.size("allocated before the recording", view.before))
    yield KIND.finding(
        "the caching allocator",
        tuple(evidence),
        share=0.0,
        gain=0.0,
        confidence=_LESS_SURE if view.late else 0.9,
        capture_next=tuple(_next(view)),
    )


def _next(view: MemoryView) -> Iterator[str]:
    """Yield what of the history a further recording would tell."""
    if view.late:
        yield _NEXT
    started, last = view.before, int(view.levels["allocated_bytes"][-1])
    if view.late and view.part(view.top[1] - last) < thresholds.MATTERS <= view.part(
        last - started
    ):
        yield _MORE
