"""Said of the launch where its evidence decides nothing: what to capture instead."""

from collections.abc import Iterator

from harness.analysis.diagnose.finding import ABSTAIN, Finding, Kind
from harness.analysis.diagnose.kernel_view import KernelView

KIND = Kind(ABSTAIN, "SM", "The evidence does not say what limits this.")


def found(view: KernelView) -> Iterator[Finding]:
    """Yield that the evidence does not decide."""
    yield KIND.finding(f"launch {view.launch}", (), confidence=0.0, kernel=view.name)
