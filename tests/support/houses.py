"""A house: a problem of two quick cells with its runs, and what has to hold after a kill."""

import fcntl
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.ground import files
from harness.run.output import LOG
from harness.store.run_folder import RECORD, Run, verified
from tests.support.nursery import Fault, Nursery

MANIFEST = """\
title: Two cells
summary: Each leaves a file, and something that hides and ignores TERM.
environments: {plain: {}}
baseline: one
variants:
  one: {label: One, environment: plain}
  two: {label: Two, environment: plain}
cases: {here: {label: Here}}
captures: {timing: {}}
metrics: {time: {label: time, unit: ms, capture: timing, sample: wall_time}}
claims: []
"""
# A script for `sh`, as starting Python would take most of the time.
REPRO = """\
out=${HARNESS_CELL#*'"out": "'}; out=${out%%'"'*}
variant=${HARNESS_CELL#*'"variant": "'}; variant=${variant%%'"'*}
(trap '' TERM; setsid sleep 600 > /dev/null 2>&1 &)
echo "measures $variant"
echo "result of $variant" > "$out/result.bin"
sleep 0.05
echo '{"samples": [{"region": "r", "metric": "wall_time", "unit": "ms", "index": 0, "value": 2.0}],
 "facts": [], "declared": {}, "packages": {}}' > "$out/workload.json"
"""
_VOLATILE = {"id", "started", "wall_s", "idle_s", "phases", "command", "seen", "sha256"}


class House:
    """A folder in which harnesses work; ``options`` choose the engine."""

    def __init__(self, folder: Path, nursery: Nursery, options: tuple[str, ...]) -> None:
        self.folder = folder
        self._nursery = nursery
        problem = folder / "9-x"
        problem.mkdir(parents=True)
        (problem / "problem.yaml").write_text(MANIFEST)
        (problem / "repro.py").write_text(REPRO)
        self.argv = ["run", str(problem), *options, "--rounds", "1"]

    @property
    def errors(self) -> str:
        """Return what the last harness printed to stderr."""
        return (self.folder / "stderr.txt").read_text()

    @property
    def changes(self) -> int:
        """Return how often the last harness that ended by itself changed something."""
        return int((self.folder / "changes.txt").read_text())

    def start(self) -> int:
        """Start a harness and return its process number."""
        return self._nursery.start(self.folder, self.argv)

    def wait(self) -> int:
        """Return the exit code of the harness that was started."""
        return self._nursery.wait()

    def run(self, fault: Fault = Fault()) -> int:  # noqa: B008 - it is frozen
        """Run a harness to its end and return its exit code."""
        return self._nursery.run(self.folder, self.argv, fault)

    def resume(self) -> int:
        """Let the run go on; begin a new one where none appeared."""
        resuming = [word for run in self.runs()[-1:] for word in ("--resume", str(run.folder))]
        return self._nursery.run(self.folder, [*self.argv, *resuming])

    def runs(self) -> list[Run]:
        return [Run(path) for path in Run.folders(self.folder / "runs", "9-x")]

    def finished(self) -> dict[str, float]:
        """Return when each cell that is ok started, after checking that all are whole."""
        started = {}
        for run in self.runs():
            for folder, record in run.records():
                for name in record.artifacts:
                    verified(folder, record, name)
                if record.ok:
                    started[record.variant or ""] = record.started or 0.0
        return started

    def tree(self) -> dict[str, Any]:
        """Return all that lies under ``runs`` but times, hashes of them, and scratch files."""
        (run,) = self.runs()
        assert [path.parent for path in run.folder.parent.glob("*/run.json")] == [run.folder]
        found: dict[str, Any] = {}
        for path in sorted((self.folder / "runs").rglob("*")):
            name = str(path.relative_to(run.folder.parent)).replace(run.folder.name, "RUN")
            found[name] = path.is_file() and _content(path)
        return found

    def processes(self) -> list[str]:
        """Return the processes with this house in their environment or among their words."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
                if os.fsencode(f"{self.folder}/") in words + (process / "environ").read_bytes():
                    found.append(f"{process.name} {words.decode(errors='replace')}")
            except OSError:
                continue
        return found

    def is_quiet(self) -> None:
        """Assert that soon nothing of the harness that ended runs any more."""
        soon(lambda: not self.processes(), self.processes)

    def locks_are_free(self) -> None:
        for path in [self.folder / "harness-cpu.lock", *self.folder.glob("runs/*/*/lock")]:
            with path.open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        shutil.rmtree(self.folder)


def goes_on(house: House, expected: dict[str, Any], *, quiet: bool = True) -> None:
    """Assert that a resume makes what an uninterrupted run makes, and leaves nothing else.

    ``quiet``: already before the resume nothing may run any more.
    """
    if quiet:
        house.is_quiet()
    before = house.finished()
    code = house.resume()
    assert code == 0, house.errors
    house.is_quiet()
    house.locks_are_free()
    made = house.tree()
    names = made.keys() | expected.keys()
    wrong = {name for name in names if made.get(name, "absent") != expected.get(name, "absent")}
    assert not wrong, {name: (made.get(name), expected.get(name)) for name in wrong}
    after = house.finished()
    assert after.items() >= before.items(), "a finished cell was run again"


def soon(condition: Callable[[], object], why: Callable[[], object], seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, why()
        time.sleep(0.01)


def _content(path: Path) -> object:
    if path.name == RECORD:
        record = files.read_json(path)
        record["artifacts"] = {
            name: known["sha256"] for name, known in record["artifacts"].items() if name != LOG
        }
        return {key: value for key, value in record.items() if key not in _VOLATILE}
    if path.name == LOG:  # the shell says so where a program that it waits for was killed
        return path.read_bytes().replace(b"Killed\n", b"")
    return path.name in ("run.json", "lock") or path.read_bytes()


ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals at which a harness ends in order."""
