"""How long cells took in earlier runs."""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import HarnessError
from harness.problem.plan import Cell
from harness.store.run_folder import Run

Key = tuple[str, str, str]
"""Case, variant and capture: cells with the same key take about as long."""

_MOST_RUNS = 10


def key_of(cell: Cell) -> Key:
    """Return the key under which a cell's duration is looked up."""
    return cell.case, cell.variant, cell.capture


def earlier(runs: Path, problem: str, target: str, cells: Sequence[Cell]) -> dict[Key, float]:
    """Return the seconds that cells took in the newest run on ``target`` that holds them.

    ``target`` is the name of a GPU or CPU. Cells that failed are left out, as are runs that cannot
    be read; the ten newest runs are searched.
    """
    wanted = {key_of(cell) for cell in cells}
    seconds: dict[Key, float] = {}
    folders = sorted(path.parent for path in (runs / problem).glob("*/run.json"))
    for folder in reversed(folders[-_MOST_RUNS:]):
        if wanted <= seconds.keys():
            break
        try:
            run = Run.open(folder)
            if run.provenance.target.name == target:
                seconds = _durations(run) | seconds
        except HarnessError:
            continue  # damaged, or of another version: an estimate does without it
    return {key: seconds[key] for key in wanted & seconds.keys()}


def _durations(run: Run) -> dict[Key, float]:
    return {
        (record.case, record.variant, record.capture): record.wall_s
        for _, record in run.records()
        if record.ok
    }
