"""One attempt at a cell: its process, the profiler's export, and the record of both."""

import os
import re
import shlex
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from harness.engines.engine import MOST_OUTPUT_BYTES, Command, Engine
from harness.evidence.cell_record import (
    CellRecord,
    CommandRecord,
    GpuSummary,
    ProcessRecord,
    WorkloadRecord,
)
from harness.evidence.kinds import KINDS
from harness.evidence.record import read
from harness.ground import files, json_text, process
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import EvidenceError, StoreError, ToolError
from harness.machine.monitor import summary
from harness.machine.stability import by_region
from harness.probe.names import RECORD as WORKLOAD
from harness.problem.plan import Cell
from harness.run import hang
from harness.run.output import EXPORT_LOG, LOG, Output
from harness.run.pauses import Pauses
from harness.store import run_folder

_EXPORT_DEADLINE_S = 600
_MOST_WORKLOAD_BYTES = 16 << 20
"""Of a workload's record, which is read again as a part of its cell's: half of the most."""

Leave = Callable[[Cell], None]
"""Called when a cell's process has ended and only its export is left."""


@dataclass
class Attempts:
    """Runs a cell once on an engine; every process carries the run's ``token``.

    ``stop`` interrupts the cells that run.
    """

    engine: Engine
    pauses: Pauses
    token: str
    stop: threading.Event

    def record(self, cell: Cell, folder: Path, scratch: Path, leave: Leave) -> CellRecord:
        """Run a cell whose folder is ``folder``; return its record.

        KeyboardInterrupt if it was interrupted.
        """
        for mistake in json_text.mistakes({"params": cell.params, "settings": cell.settings}):
            return self.not_run(cell, mistake)
        output = Output(folder)
        command = self.engine.command(cell, output.folder, scratch)
        started = time.time()
        with self.pauses.ended() as idle, self.engine.node.monitor(self.token) as monitor:
            done = self._supervised(command, output, cell.deadline_s, folder / LOG)
        if done.status == "interrupted":
            raise KeyboardInterrupt  # nothing of this cell is published; --resume runs it again
        workload = WorkloadRecord()
        ended = time.time()
        mistake = self._export(cell, output, folder, leave) if done.status == "ok" else done.detail
        refused = output.collect()
        mistake = "; ".join(filter(None, (mistake, "" if refused in mistake else refused)))
        if done.status == "ok" and not mistake:
            mistake, workload = _results(cell, folder)
        status = "failed" if mistake and done.status == "ok" else done.status
        gpu = self.engine.node.target.gpu
        timed = KINDS[cell.capture].unprofiled and status == "ok" and gpu is not None
        doubts = by_region(workload.windows, monitor.during) if timed else []
        return CellRecord(
            id=cell.id,
            variant=cell.variant,
            case=cell.case,
            capture=cell.capture,
            round=cell.round,
            status=status,
            reason=mistake,
            returncode=done.returncode,
            wall_s=round(done.wall_s, 3),
            started=round(started, 3),
            command=_portable(command, output.folder),
            params=cell.params,
            settings=cell.settings,
            gpu=gpu.uuid if gpu else None,
            idle_s=idle,
            seen=GpuSummary.model_validate(summary(monitor.during(workload.windows))),
            doubts=doubts if doubts is None else tuple(doubts),
            counted=KINDS[cell.capture].counted(process.text(folder / LOG)),
            phases=_phases(workload.process, started, ended, time.time()),
            workload=workload,
            artifacts=run_folder.fingerprint(folder),
        )

    def not_run(self, cell: Cell, reason: str) -> CellRecord:
        """Return the record of a cell of which nothing is kept but the reason."""
        gpu = self.engine.node.target.gpu
        return CellRecord(
            id=cell.id,
            variant=cell.variant,
            case=cell.case,
            capture=cell.capture,
            round=cell.round,
            status="failed",
            reason=reason,
            wall_s=0.0,
            started=round(time.time(), 3),
            seen=GpuSummary(samples=0),
            gpu=gpu.uuid if gpu else None,
        )

    def _supervised(
        self, command: Command, output: Output, deadline_s: float, log: Path
    ) -> process.Outcome:
        """Run a command to its end; however it ends, nothing of it runs on."""
        self.engine.begin(command)
        if command.owner is not None:
            os.chown(output.folder, command.owner, command.owner, follow_symlinks=False)
        done = process.Outcome("failed", None, 0.0, "")
        try:
            done = process.run(
                command.argv,
                cwd=command.cwd,
                env=process.environment(
                    command.env | dict.fromkeys(command.token_names, self.token)
                ),
                log=log,
                deadline_s=deadline_s,
                stop=self.stop,
                removal=command.removal,
                watch=output.excess,
                waits=output.waits,
                file_bytes=MOST_OUTPUT_BYTES,
            )
        except ToolError as error:
            return replace(done, detail=str(error))
        finally:
            still_running = self._left(command, done)
        why = done.ill
        if done.status == "failed" and not why:
            why = self.engine.why(command, process.tail(log))
        elif done.status == "timeout":
            why = hang.stood(process.tail(log))
        detail = "; ".join(filter(None, (why or done.detail, still_running)))
        return replace(done, detail=detail)

    def _left(self, command: Command, done: process.Outcome) -> str:
        """Return why something of a command may still run, empty if nothing does."""
        if done.left:
            return f"its container did not end in time: {shlex.join(command.removal)}"
        return self.engine.end(command) if done.status != "ok" else ""

    def _export(self, cell: Cell, output: Output, folder: Path, leave: Leave) -> str:
        """Turn the profiler's report into files that need no profiler; return what went wrong.

        The profiler opens files of the output by name, so it is not started among links.
        """
        for command in self.engine.afterwards(cell, output.folder):
            if mistake := output.irregular():
                return mistake
            leave(cell)
            done = self._supervised(command, output, _EXPORT_DEADLINE_S, folder / EXPORT_LOG)
            if done.status != "ok":
                return f"the profiler's export {done.status}: {done.detail}"
        return ""


def _results(cell: Cell, folder: Path) -> tuple[str, WorkloadRecord]:
    """Return the mistake in a cell's results, empty if there is none, and the workload's record."""
    mistake = _missing(folder, (WORKLOAD, *KINDS[cell.capture].leaves))
    if mistake:
        return mistake, WorkloadRecord()
    try:
        if _indented(folder / WORKLOAD) > _MOST_WORKLOAD_BYTES:
            return f"{WORKLOAD}: more than {_MOST_WORKLOAD_BYTES >> 20} MiB", WorkloadRecord()
        workload = read(WorkloadRecord, folder / WORKLOAD, unsealed=True)
    except (StoreError, EvidenceError) as error:
        return f"{WORKLOAD}: {error.what}", WorkloadRecord()
    (folder / WORKLOAD).unlink()
    return "", workload


def _indented(path: Path) -> int:
    """Return how many bytes of JSON a file holds at most, once they are indented by two.

    Of a file beyond ``_MOST_WORKLOAD_BYTES`` it is more than that.
    """
    with files.regular(path) as file:
        text = file.read(_MOST_WORKLOAD_BYTES + 1)
    brackets = re.findall(rb"[\[\]{}]", text)
    deepest = max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)
    return len(text) + (text.count(b",") + len(brackets)) * (2 * deepest + 1)


def _phases(
    process: ProcessRecord | None, started: float, ended: float, exported: float
) -> dict[str, float]:
    """Return the seconds of an attempt by phase; empty where the workload did not say.

    ``started`` and ``ended`` are those of the whole command, ``exported`` of what followed it.
    """
    if process is None:
        return {}
    begun = min(max(process.started, started), process.loaded)
    phases = {
        "start": begun - started,
        "import": process.loaded - begun,
        **process.spent,
        "end": ended - process.ended,
        "export": exported - ended,
    }
    return {name: round(seconds, 3) for name, seconds in phases.items()}


def _missing(out: Path, names: tuple[str, ...]) -> str:
    gone = [name for name in names if not (out / name).is_file() or not (out / name).stat().st_size]
    return f"exited well but left no {', '.join(gone)}" if gone else ""


def _portable(command: Command, out: Path) -> CommandRecord:
    """Return a command without this machine's paths, which mean nothing elsewhere."""

    def portable(text: str) -> str:
        return text.replace(str(out), "$OUT").replace(str(CHECKOUT), "$CHECKOUT")

    return CommandRecord(
        argv=tuple(portable(argument) for argument in command.argv),
        env={name: portable(value) for name, value in command.env.items()},
    )
