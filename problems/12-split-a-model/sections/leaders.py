"""Whether a ring or Ulysses leads in attention alone, by process, measured and predicted."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from harness.report.arguments import CaseName, VariantName
from harness.report.columns import NOT_MEASURED
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

from ..law import crossover
from .inputs import Inputs, most


class Race(NamedTuple):
    """The ms of both ways in one process, at each of the lengths, which rise."""

    lengths: list[int]
    ring: list[float]
    ulysses: list[float]

    @property
    def led(self) -> list[int]:
        """Return the lengths at which ring attention leads."""
        return [length for length, ring, ulysses in zip(*self, strict=True) if ring < ulysses]

    @property
    def last(self) -> tuple[str, float | None]:
        """Return who leads at the last length, and from which one on; None: at every one."""
        if self.lengths[-1] in self.led:
            return "ring", crossover(self.lengths, self.ring, self.ulysses)
        return "Ulysses", crossover(self.lengths, self.ulysses, self.ring)

    def foresees(self, other: "Race", percent: float) -> bool:
        """Return whether the last change of another is to the same way, and so near."""
        (way, since), (found, at) = self.last, other.last
        near = since and at and abs(since / at - 1) <= percent / 100
        return way == found and (since == at or bool(near))


def leaders(page: Page, variant: VariantName, case: CaseName) -> Markdown:
    """Return who leads at which length, and who at the longest: a row per process."""
    races = _races(page, variant, case)
    if not races:
        return not_measured("ring attention and Ulysses, by process")
    measured, predicted = zip(*races, strict=True)
    rows = [
        [str(at), _listed(one.led), _told(*one.last), _told(*other.last)]
        for at, (one, other) in enumerate(races, 1)
    ]
    head = ["process", "ring leads at", "leads at the longest", "by the law"]
    return Markdown(
        f"In every process {_always(measured)}; by the law {_always(predicted)}.\n\n"
        f"{table(head, rows, len(head), whole=True)}"
    )


def foreseen(page: Page, variant: VariantName, case: CaseName) -> str:
    """Return in how many processes the law foresees the length from which one way leads."""
    races = _races(page, variant, case)
    if not races:
        return NOT_MEASURED
    goal = most(page.problem, "crossover-foreseen")
    hits = sum(predicted.foresees(measured, goal) for measured, predicted in races)
    return f"predicted within {goal:g} % in {hits} of {len(races)} processes"


def _races(page: Page, variant: str, case: str) -> list[tuple[Race, Race]]:
    """Return each process' times, measured and predicted; none where a length lacks one."""
    inputs = Inputs(page, variant, case)
    lengths = inputs.params["sweep"]["lengths"]
    by_way = [
        [inputs.rounds(f"{way}_{suffix}@attention-{length}") for length in lengths]
        for suffix in ("ms", "predicted_ms")
        for way in ("ring", "ulysses")
    ]
    shared = set.intersection(*(set(found) for rows in by_way for found in rows))
    races = []
    for at in sorted(shared):
        ring, ulysses, *predicted = ([found[at] for found in rows] for rows in by_way)
        races.append((Race(lengths, ring, ulysses), Race(lengths, *predicted)))
    return races


def _always(races: Sequence[Race]) -> str:
    """Return in words the lengths at which a way leads in every process."""
    led, lengths = [set(race.led) for race in races], {*races[0].lengths}
    ring, ulysses = set.intersection(*led), lengths.difference(*led)
    return f"ring attention leads at {_listed(ring)} tokens, Ulysses at {_listed(ulysses)}"


def _listed(lengths: Collection[int]) -> str:
    return ", ".join(map(str, sorted(lengths))) or "none"


def _told(way: str, since: float | None) -> str:
    return way if since is None else f"{way}, from {number(since)} on"
