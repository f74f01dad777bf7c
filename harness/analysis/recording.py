"""What the captures of a program are, in one line: GPU, steps, busy time, and whether all is there.

``NVIDIA H200 · 8 steps of 12.4 ms (step) · GPU busy 71.0 % · capture: complete``. What is not known
is left out of it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.analysis.busy import BETWEEN, Busy
from harness.analysis.diagnose import thresholds
from harness.evidence.capture import Capture
from harness.evidence.tables import empty

_COMPLETE, _BROKEN = "capture: complete", "capture: not whole"


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

    ``launches``: those that Nsight Compute profiled. ``flaws``: of captures, the worst first.
    """

    text: str
    gpu: str | None
    launches: int | None
    flaws: tuple[Flaw, ...]

    @property
    def breaks(self) -> bool:
        """Return whether a flaw leaves nothing that a timeline's findings could rest on."""
        return any(flaw.breaks for flaw in self.flaws)


def of(captures: Sequence[Capture], found: tuple[Flaw, ...], busy: Busy | None) -> Recording:
    """Return what captures are, with the flaws that were ``found`` in them.

    ``busy``: the steps of the timelines, and how busy the GPUs were in them; None if a flaw makes
    that a guess.
    """
    gpu = _gpu(captures, busy.gpus if busy else None)
    launches = sum(
        each.tables["counters"]["launch"].n_unique() for each in _with(captures, "counters")
    )
    parts = [
        gpu or "",
        busy.text if busy else "",
        f"{launches:,} {'launch' if launches == 1 else 'launches'} profiled" if launches else "",
        _whole(captures, found),
    ]
    text = BETWEEN.join(filter(None, parts))
    return Recording(text, gpu, launches or None, found)


def _whole(captures: Sequence[Capture], found: tuple[Flaw, ...]) -> str:
    """Return whether all is there; nothing where no timeline says it."""
    if found:
        return _BROKEN
    return _COMPLETE if any(_with(captures, "gpu_ops")) else ""


def _with(captures: Sequence[Capture], table: str) -> Iterator[Capture]:
    return (each for each in captures if table in each.tables and each.tables[table].height)


def _gpu(captures: Sequence[Capture], count: int | None) -> str | None:
    """Return the names of the GPUs, with their number if there are several of one name."""
    names = Counter(name for each in captures if (name := conditions_of(each).get("GPU")))
    if not names:
        return None
    several = len(names) == 1 and count is not None and count > 1 and ", " not in next(iter(names))
    return f"{count} × {next(iter(names))}" if several else ", ".join(sorted(names))


def conditions_of(capture: Capture) -> dict[str, str]:
    """Return a capture's conditions, with those that its tables hold."""
    rows = capture.tables.get("conditions", empty("conditions"))
    return dict(rows.select("name", "value").rows()) | capture.conditions
