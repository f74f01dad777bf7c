"""What findings on memory read: one snapshot of the caching allocator."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.diagnose.families import Capture


@dataclass(frozen=True)
class MemoryView:
    """One snapshot with its history."""

    capture: Capture
    share: float = 1.0


def views(captures: Sequence[Capture]) -> Sequence[MemoryView]:
    """Return one view a snapshot."""
    return [MemoryView(each) for each in captures if each.tables["memory_timeline"].height]
