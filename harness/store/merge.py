"""Runs of one problem that several GPUs of one model made beside each other, joined into one."""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.evidence.cell_record import CellRecord
from harness.evidence.provenance import Origin
from harness.ground import files
from harness.ground.errors import UsageError
from harness.store import run_folder
from harness.store.run_folder import Run, differing, verified


def join(runs: Sequence[Run], folder: Path) -> Run:
    """Return a new run in ``folder`` with the cells of all ``runs``, which do not change.

    If several runs hold a cell, the first that ran well counts, else the first. Raises
    UsageError if the runs differ in problem, scripts, model of GPU or driver; CaptureError if a
    cell's file differs from its recorded hash.
    """
    provenances = [run.provenance for run in runs]
    first = provenances[0]
    for run, other in zip(runs[1:], provenances[1:], strict=True):
        for what, theirs, its in differing(first, other, scripts=True):
            difference = f"not joined: its {what} is {its}, the first run's {theirs}"
            raise UsageError(difference, where=run.folder)
    if going_on := [run for run in runs if run.report]:
        what = "not joined: it goes on from a report, which holds cells"
        raise UsageError(what, where=going_on[0].folder, remedy="publish it: harness report")
    origins = [_alone(origin) for provenance in provenances for origin in provenance.origins]
    cells = _counting(runs)
    for source, record in cells:
        for name in record.artifacts:
            verified(source, record, name)
    joined = Run.create(folder, first.problem, origins[0])
    joined.note(joined.provenance.model_copy(update={"resumed": tuple(origins[1:])}))
    try:
        with files.atomic_folder(joined.folder / "cells") as copies:
            for source, record in cells:
                run_folder.copied(source, (run_folder.RECORD, *record.artifacts), copies)
    except BaseException:
        shutil.rmtree(joined.folder, ignore_errors=True)
        raise
    return joined


def _alone(origin: Origin) -> Origin:
    """Return an origin without the version, id and further origins that a whole run has."""
    fields = {key: value for key, value in origin if key not in ("version", "id", "resumed")}
    return Origin.model_validate(fields)


def _counting(runs: Iterable[Run]) -> list[tuple[Path, CellRecord]]:
    """Return folder and record of each cell that counts."""
    counting: dict[tuple[str, str, str, int], tuple[Path, CellRecord]] = {}
    for run in runs:
        for folder, record in run.records():
            key = record.variant, record.case, record.capture, record.round
            if key not in counting or (record.ok and not counting[key][1].ok):
                counting[key] = folder, record
    return list(counting.values())
