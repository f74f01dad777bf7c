"""A submission to a batch system: a folder of the run with the cells of each part.

jobs/<number>/parts.json             the cells of each part, written before anything is submitted
jobs/<number>/<part>.progress        lines that the part's jobs append: what runs, and how it ended
jobs/<number>/<part>.<job>.origin.json   what a job ran on
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.evidence.record import Many, Record, read
from harness.ground import files
from harness.ground.errors import StoreError
from harness.store.run_folder import Run

_PARTS = "parts.json"


class Parts(Record):
    """The ids of the cells of each part."""

    cells: Many[Many[str]]


@dataclass(frozen=True)
class CellProgress:
    """A job's word on a cell: "running", or its status with its reason, and its seconds."""

    cell: str
    status: str
    seconds: float


@dataclass(frozen=True)
class Submission:
    """One call of the batch system for some cells of a run."""

    folder: Path

    @classmethod
    def create(cls, run: Run, parts: Sequence[Sequence[str]]) -> "Submission":
        """Make the folder of the next submission of a run, with the ids of each part's cells."""
        record = Parts(cells=tuple(map(tuple, parts)))
        number = len(submissions(run))
        while True:
            folder = run.folder / "jobs" / str(number)
            content = record.as_json()
            if files.filled_folder(folder, lambda made: files.write_json(made / _PARTS, content)):  # noqa: B023
                return cls(folder)
            number += 1

    @property
    def name(self) -> str:
        """Return the name of its jobs, which no other submission has."""
        place = hashlib.sha256(os.fsencode(self.folder.resolve())).hexdigest()[:12]
        return f"worklogs-{place}"

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """Return the ids of each part's cells; StoreError or EvidenceError if damaged."""
        return read(Parts, self.folder / _PARTS).cells

    def say(self, part: int, event: CellProgress) -> None:
        """Append an event of a part; one job at a time appends to a part's file."""
        line = json.dumps([event.cell, event.status, event.seconds])
        files.append_line(self._progress(part), line)

    def events(self, part: int) -> list[CellProgress]:
        """Return the events of a part so far; a line that is not whole yet is left out."""
        with contextlib.suppress(FileNotFoundError, StoreError):
            with files.regular(self._progress(part)) as file:
                lines = file.read().decode("utf-8", "replace").splitlines(keepends=True)
            return [CellProgress(*json.loads(line)) for line in lines if line.endswith("\n")]
        return []

    def _progress(self, part: int) -> Path:
        return self.folder / f"{part}.progress"


def submissions(run: Run) -> list[Submission]:
    """Return the submissions of a run, the oldest first."""
    folders = (path.parent for path in run.folder.glob(f"jobs/[0-9]*/{_PARTS}"))
    return [Submission(folder) for folder in sorted(folders, key=lambda folder: int(folder.name))]
