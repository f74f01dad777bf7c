"""Executes a plan: each cell published whole; what fails is recorded and the rest goes on."""

import contextlib
import hashlib
import os
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness import __version__, files, process
from harness.captures.registry import KINDS
from harness.engines import CHECKOUT, Command, Engine, lock_name
from harness.errors import EvidenceError, HarnessError, StoreError, ToolError, UsageError
from harness.evidence.provenance import (
    CellRecord,
    CommandRecord,
    GpuSummary,
    Origin,
    WorkloadRecord,
    read,
)
from harness.machine.monitor import Monitor, summary
from harness.machine.stability import by_region
from harness.machine.target import Target
from harness.probe.names import RECORD as WORKLOAD
from harness.problem.manifest import MANIFEST
from harness.problem.model import Problem
from harness.problem.plan import Cell, source_hash
from harness.store import run_folder

_EXPORT_DEADLINE_S = 600

Report = Callable[[Cell, str, float], None]
"""Told of each cell: the cell, "running" or its status with the reason, and its seconds."""


class _Pauses:
    """Tells for how long no cell of a run ran: a GPU that rests between rounds is another GPU."""

    def __init__(self) -> None:
        self.since: float | None = None
        self._running = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def ended(self) -> Iterator[float | None]:
        """Run a cell within; yield the seconds of the pause before it, None if it is the first."""
        with self._lock:
            rested = None if self.since is None else max(0.0, round(time.time() - self.since, 3))
            idle = 0.0 if self._running else rested
            self._running += 1
        try:
            yield idle
        finally:
            with self._lock:
                self._running -= 1
                self.since = time.time()


@dataclass
class Execution:
    """What one ``harness run`` works with."""

    problem: Problem
    target: Target
    engine: Engine
    run: run_folder.Run
    report: Report
    jobs: int = 1
    lock_mhz: int | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _caches: dict[tuple[str, str], threading.Lock] = field(default_factory=dict)
    _pauses: _Pauses = field(default_factory=_Pauses)

    def execute(self, cells: list[Cell]) -> None:
        """Run what is not finished yet. Tuning cells come first when cells share the GPU."""
        todo = [cell for cell in cells if not self.run.finished(cell.id)]
        ends = [record.started + record.wall_s for _, record in self.run.records()]
        self._pauses.since = max(ends, default=None)
        for cell in todo:
            self._caches.setdefault((cell.variant, cell.case), threading.Lock())
        with _gpu_to_ourselves(self.target), self._clocks():
            if self.jobs == 1:
                for cell in todo:
                    self._run(cell)
                return
            for cell in todo:
                if cell.alone:
                    self._run(cell)
            self._together([cell for cell in todo if not cell.alone])

    def _clocks(self) -> contextlib.AbstractContextManager[None]:
        """Hold the SM clock where that was asked for; otherwise nothing of the GPU is touched."""
        if self.lock_mhz is None or self.target.gpu is None:
            return contextlib.nullcontext()
        from harness.machine.clock_lock import locked

        return locked(self.target.gpu.uuid, self.lock_mhz)

    def _together(self, cells: list[Cell]) -> None:
        pool = ThreadPoolExecutor(self.jobs)
        try:
            for future in [pool.submit(self._run, cell) for cell in cells]:
                future.result()
        except BaseException:
            self._stop.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, cell: Cell) -> None:
        with self._caches[cell.variant, cell.case]:
            self.report(cell, "running", 0.0)
            record = self._publish(cell)
        reason = f": {record.reason}" if record.reason else ""
        self.report(cell, record.status + reason, record.wall_s)

    def _publish(self, cell: Cell) -> CellRecord:
        scratch = self.run.folder / "scratch"
        (scratch / "tmp" / cell.id).mkdir(parents=True, exist_ok=True)
        (scratch / "locks").mkdir(exist_ok=True)
        for path in _locks(scratch, self.target):
            path.touch()
        try:
            with files.atomic_folder(self.run.cell(cell.id)) as out:
                record = self._record(cell, out, scratch)
                if record.doubts and not cell.paired:
                    record = self._again(cell, out, scratch, record)
                files.write_json(out / run_folder.RECORD, record.as_json())
        finally:
            for left in ("", ".first", ".second"):
                shutil.rmtree(scratch / "tmp" / f"{cell.id}{left}", ignore_errors=True)
        return record

    def _again(self, cell: Cell, out: Path, scratch: Path, first: CellRecord) -> CellRecord:
        """Run a cell a second and last time; what the first left is kept aside for if it fails."""
        aside = scratch / "tmp" / f"{cell.id}.first"
        _move(out, aside)
        record = self._record(cell, out, scratch)
        if record.ok:
            shutil.rmtree(aside)
            return record.model_copy(update={"retried": first.doubts})
        _move(out, scratch / "tmp" / f"{cell.id}.second")
        _move(aside, out)
        failure = f"the second try {record.status}: {record.reason}"
        return first.model_copy(update={"retried": (failure,)})

    def _record(self, cell: Cell, out: Path, scratch: Path) -> CellRecord:
        command = self.engine.command(cell, out, scratch)
        uuid = self.target.gpu.uuid if self.target.gpu else None
        started = time.time()
        log = out / "log.txt"
        with self._pauses.ended() as idle, Monitor(uuid) as monitor:
            done = self._supervised(command, out, cell.deadline_s, log)
        if done.status == "interrupted":
            raise KeyboardInterrupt  # nothing of this cell is published; --resume runs it again
        kind = KINDS[cell.capture]
        reason, workload = done.detail, WorkloadRecord()
        if done.status == "ok":
            reason, workload = self._left(cell, out)
        status = "failed" if done.status == "ok" and reason else done.status
        windows = workload.windows
        judged = cell.capture == "timing" and status == "ok" and uuid is not None
        doubts = by_region(windows, monitor.during) if judged else []
        return CellRecord(
            id=cell.id,
            variant=cell.variant,
            case=cell.case,
            capture=cell.capture,
            round=cell.round,
            status=status,
            reason=reason,
            returncode=done.returncode,
            wall_s=round(done.wall_s, 3),
            started=round(started, 3),
            command=_portable(command, out),
            params=cell.params,
            settings=cell.settings,
            gpu=uuid,
            idle_s=idle,
            seen=GpuSummary.model_validate(summary(monitor.during(windows))),
            doubts=None if doubts is None else tuple(doubts),
            counted=kind.counted(log.read_text(encoding="utf-8", errors="replace")),
            workload=workload,
            artifacts=run_folder.fingerprint(out),
        )

    def _supervised(
        self, command: Command, out: Path, deadline_s: float, log: Path
    ) -> process.Outcome:
        """Run a command to its end; whatever that was, nothing of it runs on."""
        self.engine.begin(command)
        if command.owner is not None:
            os.chown(out, command.owner, command.owner)
        done = process.Outcome("failed", None, 0.0, "")
        try:
            done = process.run(
                command.argv,
                cwd=command.cwd,
                env=process.environment(command.env),
                log=log,
                deadline_s=deadline_s,
                stop=self._stop,
            )
        except ToolError as error:
            return replace(done, detail=str(error))
        finally:
            still = self.engine.end(command) if done.status != "ok" else ""
        said = self.engine.why(process.tail(log)) if done.status == "failed" else ""
        detail = "; ".join(filter(None, (said or done.detail, still)))
        return replace(done, detail=detail)

    def _left(self, cell: Cell, out: Path) -> tuple[str, WorkloadRecord]:
        """Return what is wrong with what a cell left, if anything, and what its workload said."""
        reason = self._afterwards(cell, out)
        reason = reason or _missing(out, (WORKLOAD, *KINDS[cell.capture].leaves))
        if reason:
            return reason, WorkloadRecord()
        try:
            workload = read(WorkloadRecord, out / WORKLOAD)
        except (EvidenceError, StoreError) as error:
            return error.what, WorkloadRecord()
        (out / WORKLOAD).unlink()
        return "", workload

    def _afterwards(self, cell: Cell, out: Path) -> str:
        """Turn the profiler's report into files that need no profiler; return what went wrong."""
        for command in self.engine.afterwards(cell, out):
            done = self._supervised(command, out, _EXPORT_DEADLINE_S, out / "export.txt")
            if done.status != "ok":
                return f"the profiler's export {done.status}: {done.detail}"
        return ""


def provenance(
    problem: Problem, target: Target, engine: Engine, arguments: dict[str, Any]
) -> Origin:
    """Return what a run has to say of where it comes from."""
    manifest = (problem.folder / MANIFEST).read_bytes()
    record = {
        "problem": problem.folder.name,
        "harness": __version__,
        "git": _git(problem.folder),
        "manifest_sha256": hashlib.sha256(manifest).hexdigest(),
        "sources_sha256": source_hash(problem.folder),
        "target": target.as_dict(),
        "engine": engine.provenance(),
        "arguments": arguments,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return Origin.model_validate(record)


def pasteable(
    engine: Engine, target: Target, cells: list[Cell], environments: list[str]
) -> Iterator[str]:
    """Yield the shell lines that would do the same by hand."""
    folder = Path("runs/by-hand").resolve()
    for argv in engine.preparation(environments):
        yield shlex.join(argv)
    for cell in cells:
        out, scratch = folder / cell.id, folder / "scratch"
        command = engine.command(cell, out, scratch)
        temporary = [command.env["TMPDIR"]] if "TMPDIR" in command.env else []
        lines = [["mkdir", "-p", str(out), str(scratch / "locks"), *temporary]]
        lines.append(["touch", *map(str, _locks(scratch, target))])
        if command.owner is not None:
            lines.append(["chown", str(command.owner), str(out)])
        env = " ".join(f"{name}={shlex.quote(value)}" for name, value in command.env.items())
        after = [shlex.join(exported.argv) for exported in engine.afterwards(cell, out)]
        yield f"# {cell.id}"
        run = f"(cd {shlex.quote(str(command.cwd))} && {env} {shlex.join(command.argv)})"
        yield " && ".join([*map(shlex.join, lines), run, *after])


def _move(source: Path, target: Path) -> None:
    """Move everything in a folder to another, which is made if need be."""
    target.mkdir(exist_ok=True)
    for path in source.iterdir():
        path.rename(target / path.name)


def _locks(scratch: Path, target: Target) -> list[Path]:
    """Return the files under whose lock cells measure; a container cannot make them."""
    name = lock_name(target)
    return [scratch / "locks" / name, scratch / "locks" / f"{name}.gate"]


def _missing(out: Path, names: tuple[str, ...]) -> str:
    gone = [name for name in names if not (out / name).is_file() or not (out / name).stat().st_size]
    return f"exited well but left no {', '.join(gone)}" if gone else ""


def _portable(command: Command, out: Path) -> CommandRecord:
    """Return a command without this machine's paths, which say nothing elsewhere."""

    def told(text: str) -> str:
        return text.replace(str(out), "$OUT").replace(str(CHECKOUT), "$CHECKOUT")

    return CommandRecord(
        argv=tuple(told(argument) for argument in command.argv),
        env={name: told(value) for name, value in command.env.items()},
    )


def _git(folder: Path) -> dict[str, Any]:
    try:
        commit = process.output(["git", "rev-parse", "HEAD"], cwd=folder)
        changed = process.output(["git", "status", "--porcelain"], cwd=folder)
    except HarnessError:
        return {"commit": None, "changed": None}
    return {"commit": commit, "changed": bool(changed)}


@contextlib.contextmanager
def _gpu_to_ourselves(target: Target) -> Iterator[None]:
    """Hold the node's lock on this GPU; the kernel frees it if we are killed."""
    from filelock import FileLock, Timeout

    name = target.gpu.uuid if target.gpu else "cpu"
    path = Path(tempfile.gettempdir()) / f"harness-{files.safe_name(name)}.lock"
    lock = FileLock(path, mode=0o666)  # whoever shares the node takes turns, too
    try:
        with lock.acquire(timeout=0.1):
            yield
    except PermissionError as error:
        remedy = "another user made it: they may remove it when no run of theirs goes on"
        raise ToolError(f"not opened: {error.strerror}", where=path, remedy=remedy) from None
    except Timeout:
        raise ToolError(
            f"another run holds {name}", remedy="wait for it to end, or stop it"
        ) from None


def resume(run: run_folder.Run, origin: Origin) -> None:
    """Note in the run that it goes on here, if it can: same problem, GPU model and driver."""
    known = run.provenance
    for what, then, now in run_folder.differing(known, origin):
        raise UsageError(f"the run's {what} is {then}, here it is {now}", where=run.folder)
    run.note(known.model_copy(update={"resumed": (*known.resumed, origin)}))
