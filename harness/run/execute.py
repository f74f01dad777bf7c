"""Executes a plan: each cell published whole; what fails is recorded and the rest goes on."""

import contextlib
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from harness.engines.engine import Engine, lock_name
from harness.evidence.cell_record import CellRecord
from harness.ground import files, process, program
from harness.ground.errors import DiskFullError, ToolError
from harness.machine.stability import OF_THE_LOAD
from harness.machine.target import Target
from harness.problem.plan import Cell
from harness.run.attempt import Attempts, Leave
from harness.run.pauses import Pauses
from harness.run.queue import Queue, exporters
from harness.store import run_folder, temporary

Notify = Callable[[Cell, str, float], None]
"""Called for each cell with the cell, "running" or its status and reason, and its seconds."""


@dataclass
class Execution:
    """Runs cells on an engine and publishes them in a run's folder.

    ``jobs`` cells set up side by side; ``lock_mhz`` is the SM clock to hold, None to hold none.
    """

    engine: Engine
    run: run_folder.Run
    notify: Notify
    jobs: int = 1
    lock_mhz: int | None = None
    _attempts: Attempts = field(init=False)
    _retries: "Retries" = field(init=False)
    _stop: threading.Event = field(init=False, default_factory=threading.Event)
    _queue: Queue | None = field(init=False, default=None)

    def execute(self, cells: list[Cell]) -> None:
        """Run the unfinished cells; with several jobs, cells that tune kernels run first and alone.

        Raises StoreError if another harness executes the run, ToolError if the GPU cannot be held,
        KeyboardInterrupt if interrupted.
        """
        with contextlib.ExitStack() as held:
            token = held.enter_context(self.run.alone())
            records = [record for _, record in self.run.records()]
            pauses = Pauses(max((one.started + one.wall_s for one in records), default=None))
            self._retries = Retries(records)
            self._attempts = Attempts(self.engine, pauses, token, self._stop)
            cells = unfinished(self.run, cells)
            gpus = max((cell.gpus for cell in cells), default=1)
            held.enter_context(self.engine.node.hold_gpus(gpus))
            held.enter_context(self._clock())
            if self.jobs == 1:
                for cell in cells:
                    self._run(cell, _nobody_waits)
            else:
                self._together(cells)

    def interrupt(self) -> None:
        """Stop the cells that run; ``execute`` then raises KeyboardInterrupt."""
        self._stop.set()

    def give_up(self, cells: Sequence[Cell]) -> bool:
        """Leave cells to another execution, if none of them has begun; return whether it does."""
        queue = self._queue
        return queue is not None and queue.withdraw(cells)

    def end_leftovers(self) -> None:
        """End what an earlier harness left running of this run; remove what it left half-written.

        Raises StoreError if another harness executes the run, ToolError if something still runs.
        """
        with self.run.alone() as token:
            if left := program.end_all(process.RUN, token):
                raise ToolError(
                    f"process {left[0]} of an earlier harness still works on this run",
                    where=self.run.folder,
                    remedy=f"end it: kill -KILL {left[0]}",
                )
            self.engine.end_run(self.run.folder)
            self.run.remove_leftovers()

    def _clock(self) -> contextlib.AbstractContextManager[None]:
        """Hold the SM clock if that was asked for; otherwise leave the GPU's settings alone."""
        if self.lock_mhz is None:
            return contextlib.nullcontext()
        return self.engine.node.hold_clock(self.lock_mhz)

    def _together(self, cells: list[Cell]) -> None:
        """Run cells side by side; while a profiler's report is exported, another cell runs."""
        node, caches = self.engine.node, self.engine.keeps_caches
        self._queue = queue = Queue(cells, self.jobs, node.target, caches=caches)
        threads = self.jobs + exporters(self.jobs)
        pool = ThreadPoolExecutor(threads)
        try:
            for future in as_completed([pool.submit(self._serve, queue) for _ in range(threads)]):
                future.result()
        except BaseException:
            self.interrupt()
            raise
        finally:
            queue.close()
            pool.shutdown(wait=True)

    def _serve(self, queue: Queue) -> None:
        """Run cells of the queue until none is left."""
        while (cell := queue.take()) is not None:
            try:
                self._run(cell, queue.leave)
            finally:
                queue.leave(cell)

    def _run(self, cell: Cell, leave: Leave) -> None:
        self.notify(cell, "running", 0.0)
        record = self._publish(cell, leave)
        reason = f": {record.reason}" if record.reason else ""
        self.notify(cell, record.status + reason, record.wall_s)

    def _publish(self, cell: Cell, leave: Leave) -> CellRecord:
        """Run a cell, twice if that may remove its doubts, and publish its folder whole."""
        scratch = self.run.folder / "scratch"
        with files.writing(scratch):
            scratch.mkdir(exist_ok=True)  # not its parents: somebody may have removed the run
            (scratch / "locks").mkdir(exist_ok=True)
            for path in locks(scratch, self.engine.node.target):
                path.touch()
        try:
            return self._published(cell, scratch, leave)
        except DiskFullError as error:  # what the cell left is gone by now, so that there is room
            record = self._attempts.not_run(cell, error.what)
            with files.atomic_folder(self.run.cell(cell.id)) as out:
                files.write_json(out / run_folder.RECORD, record.as_json())
            return record
        finally:
            for suffix in (".first", ".second"):
                files.remove(scratch / "tmp" / f"{cell.id}{suffix}")

    def _published(self, cell: Cell, scratch: Path, leave: Leave) -> CellRecord:
        with (
            temporary.folder(scratch / "tmp" / cell.id),
            files.atomic_folder(self.run.cell(cell.id)) as out,
        ):
            record = self._attempts.record(cell, out, scratch, leave)
            if record.doubts and not cell.paired:
                with self._retries.turn(record) as again:
                    if again:
                        record = self._retried(cell, out, scratch, record)
                        self._retries.learn(record)
            files.write_json(out / run_folder.RECORD, record.as_json())
        return record

    def _retried(self, cell: Cell, out: Path, scratch: Path, first: CellRecord) -> CellRecord:
        """Run a cell a second and last time; if that fails, put the first attempt's files back."""
        aside = scratch / "tmp" / f"{cell.id}.first"
        _move(out, aside)
        record = self._attempts.record(cell, out, scratch, _nobody_waits)
        if record.ok:
            shutil.rmtree(aside)
            return record.model_copy(update={"retried": first.doubts})
        _move(out, scratch / "tmp" / f"{cell.id}.second")
        _move(aside, out)
        failure = f"the second try {record.status}: {record.reason}"
        return first.model_copy(update={"retried": (failure,)})


def unfinished(run: run_folder.Run, cells: list[Cell]) -> list[Cell]:
    """Return the cells that the run has not finished, in their order."""
    published = run.published
    return [cell for cell in cells if cell.name not in published and not run.finished(cell.id)]


def _nobody_waits(_cell: Cell) -> None:
    """Do nothing: no other cell waits for this cell's process to end."""


def locks(scratch: Path, target: Target) -> list[Path]:
    """Return the files under whose lock cells measure; a container cannot make them."""
    name = lock_name(target)
    return [scratch / "locks" / name, scratch / "locks" / f"{name}.gate"]


def _move(source: Path, target: Path) -> None:
    """Move the content of a folder to another folder, which is made if it does not exist."""
    target.mkdir(exist_ok=True)
    for path in source.iterdir():
        path.rename(target / path.name)


class Retries:
    """Knows which doubts a second try kept, by case; ``records`` are those of the run so far."""

    def __init__(self, records: Iterable[CellRecord] = ()) -> None:
        self._kept: dict[str, set[str]] = {}
        self._turns: dict[str, threading.Lock] = {}
        for record in records:
            self.learn(record)

    @contextlib.contextmanager
    def turn(self, record: CellRecord) -> Iterator[bool]:
        """Yield whether a doubtful cell runs again; others of its case wait for what comes of it.

        It does not where all its doubts are of the load and stayed in another cell's repetition.
        """
        if not _of_the_load(record.doubts or ()):
            yield True
            return
        with self._turns.setdefault(record.case, threading.Lock()):
            yield not _of_the_load(record.doubts or ()) <= self._kept.get(record.case, set())

    def learn(self, record: CellRecord) -> None:
        """Note the doubts that a cell had in both tries."""
        both = _of_the_load(record.retried) & _of_the_load(record.doubts or ())
        self._kept.setdefault(record.case, set()).update(both)


def _of_the_load(doubts: Collection[str]) -> set[str]:
    """Return the kinds of doubts if all are of the load, else nothing."""
    kinds = {kind for doubt in doubts for kind in OF_THE_LOAD if doubt.startswith(kind)}
    return kinds if all(doubt.startswith(OF_THE_LOAD) for doubt in doubts) else set()
