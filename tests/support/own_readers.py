"""How commands read each file of the harness's own, and what may come of a damaged one."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from harness.evidence import capture_list, record
from harness.evidence import tables as evidence
from harness.evidence.cell_record import WorkloadRecord
from harness.extract import door
from harness.ground.errors import HarnessError
from harness.machine.target import Gpu, Target
from harness.report import card
from harness.run import calibrate, durations
from harness.store import capture_store
from harness.store.run_folder import Run
from tests.support.own_files import OwnFiles

DEADLINE_S = 10.0
MOST_LETTERS = 2000

Read = Callable[[], object]
"""Reads a file; a HarnessError or False refuses it."""


def readers(own: OwnFiles) -> dict[Path, Read]:
    """Return what reads each of the files; nothing is extracted and nothing rendered."""
    listed = capture_list.read(own.evidence)
    assert listed
    stored = next(capture for capture in listed.captures if not capture.in_git)

    def run() -> object:
        opened = Run.open(own.run.folder)
        durations.known(own.run.folder.parents[1], own.report.parents[1], "9-example", "", [])
        return opened.provenance, opened.unsealed

    def ceilings() -> bool:
        with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(own.ceilings.parents[2])):
            return calibrate.kept(_target(own.ceilings.stem)) is not None

    def pushed() -> bool:
        remote = own.store.with_name("remote")
        shutil.rmtree(remote, ignore_errors=True)
        return not capture_store.push([stored], own.store, str(remote)).missing

    return {
        own.run.folder / "run.json": run,
        own.evidence / "provenance.json": lambda: door.provenance_of(own.report),
        own.evidence / "captures.json": lambda: capture_list.read(own.evidence),
        own.report / "card.json": lambda: card.read(own.report),
        own.ceilings: ceilings,
        own.workload: lambda: record.read(WorkloadRecord, own.workload, unsealed=True),
        own.store / capture_store.relative(stored.sha256): pushed,
        **dict.fromkeys(own.cells, lambda: list(own.run.records())),
        **dict.fromkeys(own.tables, lambda: evidence.load(own.evidence)),
        **{path: _opened(path.parent) for path in own.run.folder.glob("cells/*/trace.json.gz")},
        **{path: _opened(path) for path in (own.report / "captures").iterdir()},
    }


def _opened(path: Path) -> Read:
    return lambda: door.opened(str(path))


def _target(name: str) -> Target:
    """Return a machine whose GPU and driver the file of ceilings is named by."""
    uuid, _, driver = name.rpartition("-")
    gpu = Gpu(0, uuid, "NVIDIA H200", "9.0", 150 << 30, driver, "13.0")
    return Target(gpu, "a CPU", 8, 64 << 30, "a system", {}, None)


def is_read(read: Read) -> bool:
    """Return whether a file is read, False if it is refused: in one line, and in time.

    Any other exception is a traceback to the user, and goes through.
    """
    start = time.monotonic()
    try:
        return read() is not False
    except HarnessError as error:
        line = str(error)
        assert line.encode()
        assert len(line.splitlines()) == 1, line
        assert len(line) <= MOST_LETTERS, line
        assert error.exit_code in (1, 2)
        return False
    finally:
        assert time.monotonic() - start < DEADLINE_S
