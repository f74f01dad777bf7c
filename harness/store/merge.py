"""Runs of one problem that several GPUs of one model made beside each other, joined into one."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import files
from harness.errors import UsageError
from harness.store.run_folder import Run, differing, verified

_KEY = ("variant", "case", "capture", "round")
_OWN = ("version", "id", "resumed")


def join(given: Sequence[Run], runs: Path) -> Run:
    """Return a new run with the cells of all ``given``; they stay as they are.

    Of a cell that several hold, the first's counts; one that ran well counts before one that did
    not. Raises UsageError if the runs are not of the same problem and scripts, on the same model
    of GPU with the same driver; CaptureError if a file of a cell is not what was recorded.
    """
    first, *others = (one.provenance for one in given)
    for one, origin in zip(given[1:], others, strict=True):
        for what, theirs, its in differing(first, origin, scripts="sources_sha256"):
            told = f"not joined: its {what} is {its}, the first run's {theirs}"
            raise UsageError(told, where=one.folder)
    whole = [known for origin in (first, *others) for known in (origin, *origin.get("resumed", []))]
    resumed = [{key: value for key, value in one.items() if key not in _OWN} for one in whole[1:]]
    kept = {key: value for key, value in first.items() if key not in _OWN}
    counting = list(_cells(given))
    for folder, record in counting:
        for name in record["artifacts"]:
            verified(folder, record, name)
    made = Run.create(runs, first["problem"], kept | {"resumed": resumed})
    try:
        with files.atomic_folder(made.folder / "cells") as cells:
            for folder, _ in counting:
                shutil.copytree(folder, cells / folder.name)
    except BaseException:
        shutil.rmtree(made.folder, ignore_errors=True)
        raise
    return made


def _cells(given: Sequence[Run]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield folder and record of each cell that counts."""
    found: dict[tuple[Any, ...], tuple[Path, dict[str, Any]]] = {}
    for run in given:
        for folder, record in run.records():
            key = tuple(record[name] for name in _KEY)
            if key not in found or (record["status"] == "ok" != found[key][1]["status"]):
                found[key] = folder, record
    yield from found.values()
