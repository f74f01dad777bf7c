"""Harnesses that race each other: processes, each with a TMPDIR and a clock of its own."""

import contextlib
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest.mock import patch

from harness.engines.engine import Engine
from harness.evidence.provenance import Origin
from harness.ground.errors import HarnessError
from harness.machine import gpu_lock
from harness.problem.plan import Cell
from harness.run.execute import Execution
from harness.run.session import Request, Work
from harness.store import run_folder
from harness.store.run_folder import Run
from tests.support.bench import Bench

_PROCESSES = multiprocessing.get_context("forkserver")
_DEADLINE_S = 60.0


@dataclass(frozen=True)
class Task:
    """What a rival does after ``delay_s``.

    It answers with "done: …", or with the error's class, exit code and line.
    """

    do: Callable[..., str]
    arguments: tuple[object, ...]
    delay_s: float = 0.0


class Rival:
    """A process that waits for tasks."""

    def __init__(self, locks: Path, temporary: Path) -> None:
        self._pipe, theirs = _PROCESSES.Pipe()
        self._process: BaseProcess = _PROCESSES.Process(
            target=_serve, args=(theirs, locks, temporary)
        )
        self._process.start()
        theirs.close()

    def begin(self, task: Task) -> None:
        self._pipe.send(task)

    def answer(self) -> str:
        """Return the answer to the last task; "killed" if the rival was."""
        if not self._pipe.poll(_DEADLINE_S):
            raise TimeoutError(f"no answer within {_DEADLINE_S:.0f} s")
        try:
            return str(self._pipe.recv())
        except (EOFError, ConnectionResetError):
            return "killed"

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def end(self) -> None:
        self._pipe.close()
        self._process.join()


@contextlib.contextmanager
def rivals(locks: Sequence[Path], folder: Path) -> Iterator[list[Rival]]:
    """Start a rival for each place of GPU locks; each has a temporary folder of its own."""
    _PROCESSES.set_forkserver_preload([__name__])
    started = []
    try:
        for number, place in enumerate(locks):
            (temporary := folder / f"tmp-{number}").mkdir(parents=True, exist_ok=True)
            place.mkdir(exist_ok=True)
            started.append(Rival(place, temporary))
        yield started
    finally:
        for rival in started:
            rival.end()


def execute(bench: Bench) -> str:
    """Execute a bench's run, whichever of its cells are unfinished."""
    Execution(bench.engine, Run(bench.run.folder), lambda *_: None).execute(bench.cells)
    return "executed"


def resume(bench: Bench, origin: Origin) -> str:
    """Go on with a bench's run, as ``harness run --resume`` does."""
    run = Run.open(bench.run.folder)
    request = Request("9", resume=run.folder)
    shares: list[tuple[Engine, tuple[Cell, ...]]]
    shares = [(bench.engine, tuple(bench.cells)), (bench.engine, ())]
    scripts = (bench.problem, "scripts", bench.engine, run, bench.cells)
    work = Work(request, *scripts, 1, (origin,), shares)
    work.execute(lambda *_: None)
    return "resumed"


def create(runs: Path, origin: Origin, count: int, ahead_s: float) -> str:
    """Make runs by a clock that is ``ahead_s`` ahead; return their names."""
    with patch.object(run_folder, "datetime", _clock(ahead_s)):
        return " ".join(Run.create(runs, "9-example", origin).folder.name for _ in range(count))


def _clock(ahead_s: float) -> type[datetime]:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = UTC) -> "Clock":
            at = datetime.now(tz) + timedelta(seconds=ahead_s)
            return cls.fromtimestamp(at.timestamp(), tz)

    return Clock


def _serve(pipe: Connection, locks: Path, temporary: Path) -> None:
    os.environ["TMPDIR"] = str(temporary)
    tempfile.tempdir = None
    gpu_lock.FOLDER = locks
    with contextlib.suppress(EOFError):
        while True:
            task: Task = pipe.recv()
            time.sleep(task.delay_s)
            try:
                answer = f"done: {task.do(*task.arguments)}"
            except HarnessError as error:
                answer = f"{type(error).__name__} {error.exit_code}: {error}"
            pipe.send(answer)
