"""Said of the timeline where its evidence decides nothing: what to capture instead."""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import ABSTAIN, Finding, Kind
from harness.analysis.diagnose.timeline_view import TimelineView

KIND = Kind(ABSTAIN, "timeline", "The evidence does not say what limits this.")


def found(_view: TimelineView) -> Iterator[Finding]:
    """Yield that the evidence does not decide."""
    yield KIND.finding("the timeline", (), confidence=0.0)
