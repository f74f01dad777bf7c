"""What the captures of a program are: the line on them, and their flaws."""

from collections import Counter
from collections.abc import Iterator, Sequence

from harness.analysis import flaws
from harness.analysis.busy import Busy
from harness.analysis.recording import BETWEEN, Flaw, Recording, conditions_of
from harness.evidence.capture import Capture

_COMPLETE, _BROKEN = "capture: complete", "capture: not whole"


def flaws_of(captures: Sequence[Capture]) -> tuple[Flaw, ...]:
    """Return the flaws of all captures; where several are given, each with its capture's label."""
    found = [(each.label, flaw) for each in captures for flaw in flaws.flaws(each)]
    if len({each.label for each in captures}) > 1:
        found = [(label, flaw.of(label)) for label, flaw in found]
    return tuple(sorted((flaw for _, flaw in found), key=lambda flaw: -(flaw.part or 0.0)))


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
        *(busy.parts if busy else ()),
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
