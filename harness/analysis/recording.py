"""What the captures of a program are, in one line: GPU, steps, busy time, and whether all is there.

``NVIDIA H200 · 8 steps of 12.4 ms (step) · GPU busy 71.0 % · capture: complete``. What is not known
is left out of it.
"""

from dataclasses import dataclass, replace

from harness.analysis.diagnose import thresholds
from harness.evidence.capture import Capture
from harness.evidence.tables import empty

BETWEEN = " · "
"""What stands between the parts of the line."""


@dataclass(frozen=True)
class Flaw:
    """``what`` is wrong, what of the rest still ``holds``, and what to record ``instead``.

    ``part``: the fraction of the capture that it damages; None where that is not known.
    """

    what: str
    holds: str
    instead: str
    part: float | None = None

    @property
    def breaks(self) -> bool:
        """Return whether it damages as much as a cause that matters: then nothing is concluded."""
        return self.part is not None and self.part >= thresholds.MATTERS

    @property
    def text(self) -> str:
        """Return the flaw in a line; of one that breaks, a finding says what to record instead."""
        instead = "" if self.breaks else f" Instead: {self.instead}."
        return f"{self.what}; {self.holds}.{instead}"

    def of(self, label: str) -> "Flaw":
        """Return the flaw with the label of its capture."""
        return replace(self, what=f"{label}: {self.what}")


@dataclass(frozen=True)
class Recording:
    """The captures of one program: the line that says what they are, and what is wrong with them.

    ``launches``: those that Nsight Compute profiled. ``flaws``: of timelines, the worst first.
    """

    text: str
    gpu: str | None
    launches: int | None
    flaws: tuple[Flaw, ...]

    @property
    def breaks(self) -> bool:
        """Return whether a flaw leaves nothing that a timeline's findings could rest on."""
        return any(flaw.breaks for flaw in self.flaws)


def conditions_of(capture: Capture) -> dict[str, str]:
    """Return a capture's conditions, with those that its tables hold."""
    rows = capture.tables.get("conditions", empty("conditions"))
    return dict(rows.select("name", "value").rows()) | capture.conditions
