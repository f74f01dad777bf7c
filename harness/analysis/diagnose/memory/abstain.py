"""Said of the snapshot where its evidence decides nothing: what to capture instead."""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import ABSTAIN, Finding, Kind
from harness.analysis.diagnose.memory_view import MemoryView

KIND = Kind(ABSTAIN, "memory", "The evidence does not say what limits this.")


def found(view: MemoryView) -> Iterator[Finding]:
    """Yield that the evidence does not decide."""
    yield KIND.finding(view.capture.label, (), confidence=0.0)
