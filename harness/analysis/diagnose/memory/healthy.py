"""Said of a snapshot whose history is whole and most of whose reserved bytes are in use."""

from collections.abc import Iterator

from harness.analysis.diagnose import memory_thresholds
from harness.analysis.diagnose.finding import HEALTHY, Finding, FindingKind
from harness.analysis.diagnose.memory_view import MemoryView

KIND = FindingKind(HEALTHY, "memory", "What is reserved is what the program needs at its peak.")


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield it if no large part of what is reserved lies unused in the measured steps."""
    unused = view.part(view.unused)
    if not view.complete or view.failed or view.grows or unused >= memory_thresholds.UNUSED:
        return
    evidence = (
        view.size("peak of reserved bytes", view.peak),
        view.size(
            "of it in segments that the measured steps never needed",
            view.unused,
            memory_thresholds.UNUSED * view.peak,
        ),
    )
    yield KIND.finding("the caching allocator", evidence, share=0.0, gain=0.0, confidence=0.9)
