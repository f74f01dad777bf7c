"""Brings a cell from a node's own disk into the run's folder, which all nodes share.

Nothing here relies on a lock: a shared file system may have none. A folder appears under its name
by one rename, which NFS does at once as well, and only one of several renames succeeds.
"""

import os
import shutil
from pathlib import Path

from harness.evidence.cell_record import CellRecord
from harness.ground import files
from harness.store import run_folder
from harness.store.run_folder import Run


def land(cell: Path, run: Run) -> bool:
    """Copy a cell's folder into a run; return False if the run has the cell finished already.

    A cell that failed before is replaced. Raises StoreError if the run's folder cannot be written,
    CaptureError if a file of the cell changed since it was recorded.
    """
    record = run_folder.record_of(cell)
    target = run.cell(cell.name)
    if not target.is_dir() and files.filled_folder(
        target, lambda folder: _copy(cell, record, folder)
    ):
        return True
    if run.finished(cell.name):
        return False
    with files.atomic_folder(target) as folder:
        _copy(cell, record, folder)
    return True


def _copy(cell: Path, record: CellRecord, folder: Path) -> None:
    """Copy a cell's artifacts and then its record, each down to the disk of the server."""
    for name in record.artifacts:
        _copied(run_folder.verified(cell, record, name), folder / name)
    _copied(cell / run_folder.RECORD, folder / run_folder.RECORD)


def _copied(source: Path, target: Path) -> None:
    with files.regular(source) as file, target.open("xb") as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        os.fsync(copy.fileno())
