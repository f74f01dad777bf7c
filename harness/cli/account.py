"""A run's account of itself: before it starts, when it is interrupted, and at its end."""

import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from harness.cli.progress import Estimate, in_words
from harness.evidence.cell_record import CellRecord
from harness.evidence.kinds import KINDS
from harness.problem.model import Problem
from harness.problem.plan import Cell
from harness.run.durations import Known
from harness.run.session import Here
from harness.store.run_folder import Run

if TYPE_CHECKING:  # where cells run there may be no library that reads captures
    from harness.analysis.scope import Scope


class Executed(Protocol):
    """A run of a plan, by this machine or by jobs of a cluster."""

    @property
    def problem(self) -> Problem:
        """Return the run's problem."""
        ...

    @property
    def run(self) -> Run:
        """Return the run's folder."""
        ...

    @property
    def cells(self) -> list[Cell]:
        """Return the cells of the plan."""
        ...

    @property
    def to_run(self) -> list[Cell]:
        """Return the cells that are not finished."""
        ...


def opening(asked: Here, expected: Known) -> str:
    """Return how many cells a run has of how many, and how long they will take."""
    cells, whole, left = len(asked.cells), asked.of_all(), len(asked.to_run)
    path = "the short path of " if asked.selected.short else ""
    counted = f"{cells} of {whole} cells" if cells < whole else f"{cells} cells"
    going_on = f", {left or 'none'} of them left" if asked.resumed else ""
    duration = _duration(asked, expected) if left else ""
    return f"{path}{asked.problem.folder.name}: {counted}{going_on}{duration}"


def _duration(asked: Here, expected: Known) -> str:
    seconds = Estimate(asked.to_run, expected.by_cell, asked.jobs).left(0.0)
    if seconds is None:
        return "; how long they take here is not known yet"
    if expected.machine:
        told = f"about {in_words(seconds)} as on the {expected.machine} of the report"
        return f"; not all timed here yet: {told}"
    return f"; about {in_words(seconds)} by earlier runs, after set-up"


def interrupted(work: Executed, argv: Sequence[str]) -> Iterator[str]:
    """Yield what was done, and the line that goes on with it."""
    planned = len(work.cells)
    done = planned - len(work.to_run)
    yield f"{done} of {planned} cells are in {near(work.run.folder)}"
    yield f"go on with: {resuming(argv, work.run.folder)}"


def next_steps(
    work: Executed, argv: Sequence[str], report: Path | None
) -> Iterator[tuple[str, str]]:
    """Yield commands that follow a run, each with what it is for; ``report`` is the run's own."""
    if work.to_run:
        yield resuming(argv, work.run.folder), f"run the {len(work.to_run)} failed cells again"
    if report is None:
        number = work.problem.number
        judging = f"report {number} --run {shlex.quote(near(work.run.folder))}"
        yield f"{program(argv)} {judging}", "judge its claims and write its worklog"
    if work.run.provenance.is_short:
        words = [*_without_resume(argv), "--full"]
        yield f"{program(argv)} {shlex.join(words)}", "every cell and every claim"
    folder = near(report or work.run.folder)
    sides = [shlex.quote(f"{folder}:{case}.{variant}") for case, variant in _to_compare(work)]
    if sides:
        yield f"{program(argv)} inspect {sides[-1]}", "look into one cell"
    if len(sides) == 2:
        yield f"{program(argv)} diff {' '.join(sides)}", "what differs between two"


def _to_compare(work: Executed) -> list[tuple[str, str]]:
    """Return case and variant of two cells of one capture, the baseline first; fewer if need be."""
    ok = {cell.name for cell in work.cells if work.run.finished(cell.id)}
    profiled = [cell for cell in work.cells if cell.name in ok and KINDS[cell.capture].artifact]
    for cell in profiled:
        others = [
            (other.case, other.variant)
            for other in profiled
            if (other.case, other.capture) == (cell.case, cell.capture) and other != cell
        ]
        if others:
            sides = [(cell.case, cell.variant), others[0]]
            return sorted(sides, key=lambda side: side[1] != work.problem.baseline)
    return [(cell.case, cell.variant) for cell in profiled[:1]]


def resuming(argv: Sequence[str], folder: Path) -> str:
    """Return the command line that goes on with a run: as it was called, and --resume."""
    words = [*_without_resume(argv), "--resume", near(folder)]
    return f"{program(argv)} {shlex.join(words)}"


def _without_resume(argv: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skipped = False
    for word in argv[1:]:
        if skipped or word == "--resume":
            skipped = not skipped
        elif not word.startswith("--resume="):
            kept.append(word)
    return kept


def program(argv: Sequence[str]) -> str:
    """Return how a shell calls this program."""
    if Path(argv[0]).name == "__main__.py":
        return f"{shlex.quote(near(Path(sys.executable)))} -m harness"
    return "harness" if shutil.which("harness") == argv[0] else shlex.quote(near(Path(argv[0])))


def near(path: Path) -> str:
    """Return a path as seen from the working folder, if it lies in there."""
    text = os.path.relpath(path)
    return str(path) if text.startswith("..") else text


def statuses(records: Iterable[CellRecord]) -> str:
    """Return "34 ok, 1 failed"."""
    counts = Counter(record.status for record in records)
    others = sorted(counts.keys() - {"ok"})
    return ", ".join([f"{counts['ok']} ok", *(f"{counts[name]} {name}" for name in others)])


def spent(records: Iterable[CellRecord]) -> str:
    """Return the cells' seconds by phase, added up; empty if none of them says."""
    seconds: Counter[str] = Counter()
    for record in records:
        seconds.update(record.phases)
    parts = [f"{name.replace('_', ' ')} {in_words(seconds[name])}" for name in seconds]
    return f"the cells' time, side by side: {', '.join(parts)}" if parts else ""


def ending(cells: str, where: Path, scope: "Scope | None" = None, device: str = "cuda") -> str:
    """Return the line that sums a run up: its cells, its claims, and where to read on."""
    parts = [cells]
    if scope:
        from harness.report.verdicts import by_verdict, tally

        other = "a GPU" if device == "cpu" else "a CPU"
        needs = [_need(len(scope.elsewhere), other), _need(len(scope.left_out), "the full run")]
        parts.append("; ".join(filter(None, [tally(by_verdict(scope.judged)), *needs])))
    return f"{' · '.join(parts)} → {near(where)}"


def _need(count: int, what: str) -> str:
    return f"{count} need{'s' if count == 1 else ''} {what}" if count else ""
