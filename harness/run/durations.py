"""How long cells took in earlier runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness.evidence import provenance
from harness.evidence.provenance import EvidenceProvenance
from harness.ground.errors import HarnessError
from harness.problem.plan import Cell
from harness.store.run_folder import Run

_MOST_RUNS = 10
_ALONE = ("tune", "measure")
"""Phases in which a cell has the device alone."""


class Duration(NamedTuple):
    """What a cell takes in seconds: ``alone`` on its device, and ``beside`` other cells.

    What it waited for others is in neither.
    """

    alone: float
    beside: float

    @property
    def whole(self) -> float:
        """Return the seconds of a cell that nobody keeps waiting."""
        return self.alone + self.beside

    def of_run(self, cell: Cell, jobs: int) -> float:
        """Return by how much the cell makes a run longer in which ``jobs`` set up side by side."""
        return self.whole if cell.alone else self.alone + self.beside / jobs


@dataclass(frozen=True)
class Known:
    """Durations by a cell's name; ``machine``: where those were that are not of this model."""

    by_cell: Mapping[str, Duration]
    machine: str = ""


def known(runs: Path, reports: Path, problem: str, target: str, cells: Sequence[Cell]) -> Known:
    """Return what cells took on ``target``, the others what they took on another GPU or CPU.

    ``target`` is the name of a GPU or CPU. First come the ten newest runs on it, then its reports,
    then the first other report that holds one of the cells. A cell takes as long as in the same
    round, or else as in a later one. Cells that failed are left out, as are runs that cannot be
    read.
    """
    folders = sorted(path.parent for path in (runs / problem).glob("[!.]*/run.json"))
    published = [
        (origin.run.target.name, _of_cells(origin)) for origin in _origins(reports / problem)
    ]
    recorded: dict[str, Duration] = {}
    for folder in reversed(folders[-_MOST_RUNS:]):
        if _matched(recorded, cells).keys() >= {cell.name for cell in cells}:
            break
        recorded = _of_run(folder, target) | recorded
    for name, durations in published:
        if name == target:
            recorded = durations | recorded
    here = _matched(recorded, cells)
    for name, durations in published:
        if name != target and (there := _matched(durations, cells)).keys() - here.keys():
            return Known(there | here, name)
    return Known(here)


def _matched(recorded: Mapping[str, Duration], cells: Sequence[Cell]) -> dict[str, Duration]:
    """Return the durations of cells, of the same round or of the latest one."""
    latest = {_recording(name): recorded[name] for name in sorted(recorded)}
    found = (
        (cell.name, recorded.get(cell.name, latest.get(_recording(cell.name)))) for cell in cells
    )
    return {name: duration for name, duration in found if duration is not None}


def _of_run(folder: Path, target: str) -> dict[str, Duration]:
    try:
        run = Run.open(folder)
        if run.provenance.target.name != target:
            return {}
        return {
            record.name: _duration(record.wall_s, record.phases)
            for _, record in run.records()
            if record.ok
        }
    except HarnessError:
        return {}  # damaged, or of another version: an estimate does without it


def _origins(reports: Path) -> Iterator[EvidenceProvenance]:
    for folder in sorted(reports.glob("[!.]*")):
        try:
            yield provenance.load(folder / "evidence")
        except HarnessError:
            continue


def _of_cells(origin: EvidenceProvenance) -> dict[str, Duration]:
    return {
        cell.cell: _duration(cell.wall_s, cell.phases)
        for cell in origin.cells
        if cell.status == "ok"
    }


def _duration(wall_s: float, phases: Mapping[str, float]) -> Duration:
    alone = sum(phases.get(name, 0.0) for name in _ALONE)
    return Duration(alone, max(0.0, wall_s - phases.get("wait", 0.0) - alone))


def _recording(cell: str) -> str:
    """Return a cell's name without its round."""
    return cell.rpartition(".r")[0]
