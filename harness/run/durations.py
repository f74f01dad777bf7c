"""How long cells took in earlier runs."""

from collections.abc import Sequence
from pathlib import Path

from harness.evidence import provenance
from harness.evidence.provenance import EvidenceProvenance
from harness.ground.errors import HarnessError
from harness.problem.plan import Cell
from harness.store.run_folder import Run

Key = tuple[str, str, str]
"""Case, variant and capture: cells with the same key take about as long."""

_MOST_RUNS = 10


def key_of(cell: Cell) -> Key:
    """Return the key under which a cell's duration is looked up."""
    return cell.case, cell.variant, cell.capture


def earlier(
    runs: Path, reports: Path, problem: str, target: str, cells: Sequence[Cell]
) -> dict[Key, float]:
    """Return the seconds that cells took in the newest run on ``target`` that holds them.

    ``target`` is the name of a GPU or CPU. What no run holds is looked up in the reports of that
    target. Cells that failed are left out, as are runs that cannot be read; the ten newest runs are
    searched.
    """
    wanted = {_recording(cell.name): key_of(cell) for cell in cells}
    folders = sorted(path.parent for path in (runs / problem).glob("[!.]*/run.json"))
    seconds: dict[str, float] = {}
    for folder in [*reversed(folders[-_MOST_RUNS:]), *sorted((reports / problem).glob("[!.]*"))]:
        if wanted.keys() <= seconds.keys():
            break
        try:
            of_run = (folder / "run.json").is_file()
            recorded = _of_run(folder, target) if of_run else _of_report(folder, target)
        except HarnessError:
            continue  # damaged, or of another version: an estimate does without it
        seconds = recorded | seconds
    return {key: seconds[name] for name, key in wanted.items() if name in seconds}


def published(
    reports: Path, problem: str, cells: Sequence[Cell]
) -> tuple[str, dict[Key, float]] | None:
    """Return the first machine whose report holds one of the cells, and their seconds there."""
    wanted = {_recording(cell.name): key_of(cell) for cell in cells}
    for folder in sorted((reports / problem).glob("[!.]*")):
        try:
            origin = provenance.load(folder / "evidence")
        except HarnessError:
            continue
        seconds = {
            wanted[name]: value for name, value in _seconds(origin).items() if name in wanted
        }
        if seconds:
            return origin.run.target.name, seconds
    return None


def _of_run(folder: Path, target: str) -> dict[str, float]:
    run = Run.open(folder)
    if run.provenance.target.name != target:
        return {}
    return {_recording(record.name): record.wall_s for _, record in run.records() if record.ok}


def _of_report(folder: Path, target: str) -> dict[str, float]:
    origin = provenance.load(folder / "evidence")
    return _seconds(origin) if origin.run.target.name == target else {}


def _seconds(origin: EvidenceProvenance) -> dict[str, float]:
    return {_recording(cell.cell): cell.wall_s for cell in origin.cells if cell.status == "ok"}


def _recording(cell: str) -> str:
    """Return a cell's name without its round."""
    return cell.rpartition(".r")[0]
