"""A job's work on its node: a part of the plan, each cell brought into the shared run at once.

The node works in a run of its own, on its own disk: there are locks, and its target, monitor,
calibration and caches are the node's. What has landed is never run again, so a job that is
killed, pre-empted or queued again goes on where it was.
"""

import os
import shutil
import signal
import socket
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from harness.engines import choose
from harness.evidence.cell_record import CellRecord
from harness.evidence.provenance import Job, Origin
from harness.ground import files
from harness.ground.errors import BusyError, ToolError
from harness.problem.plan import Cell
from harness.run.cluster.submission import CellProgress, Submission
from harness.run.session import Request, Work, session
from harness.store import run_folder
from harness.store.run_folder import Run

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

_LOOK_S = 1.0


@dataclass(frozen=True)
class JobPart:
    """One part of a submission, as its job carries it.

    ``request`` is what was asked, ``gpu`` the name of the GPU that the node has to have, None for
    a CPU; ``names`` the cells' names by id.
    """

    run: Path
    submission: Path
    number: int
    request: Request
    gpu: str | None
    names: dict[str, str]

    def __call__(self) -> None:
        """Run the cells that the shared run lacks; what a user has to know is printed."""
        signal.signal(signal.SIGTERM, _interrupt)  # as `scancel` sends: programs are ended
        shared = Run.open(self.run)
        left = [name for cell, name in self.names.items() if not shared.finished(cell)]
        if not left:
            return
        with tempfile.TemporaryDirectory(prefix="worklogs-") as own:
            selected = replace(self.request.selected, names=frozenset(left))
            asked = replace(self.request, selected=selected, runs=Path(own), resume=None)
            self._check_gpu()
            understood = session(asked)
            if {cell.id for cell in understood.cells} - self.names.keys():
                what = "the problem's files changed since the job was submitted"
                raise ToolError(what, remedy="submit again: harness run --resume")
            self._execute(understood.install(_say), shared)

    def _check_gpu(self) -> None:
        """Raise ToolError unless this node has the GPU for which the run was planned."""
        gpu = choose.node_of(self.request.engine, self.request.options).target.gpu
        name = gpu.name if gpu else None
        if name != self.gpu:
            what = f"the job's GPU is {name}, and the cluster's profile says {self.gpu}"
            raise ToolError(what, remedy="ask for that GPU in the profile: gres, constraint")

    def checkpoint(self) -> "DelayedSubmission":
        """Return this part again, to be queued again at a time limit or pre-emption."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)

    def _execute(self, work: Work, shared: Run) -> None:
        """Execute the node's own run once no other job holds its GPU; cells land as they end."""
        submission = Submission(self.submission)

        def notify(cell: Cell, status: str, seconds: float) -> None:
            _say(f"{cell.id}: {status}")
            if status != "running":
                land(work.run.cell(cell.id), shared)
            submission.say(self.number, CellProgress(cell.id, status, seconds))

        while True:
            self._note_origins(work.run)
            try:
                work.execute(notify)
                break
            except BusyError as error:
                _say(f"waiting: {error}")
                time.sleep(_LOOK_S)
        self._note_origins(work.run)  # with what the run itself measured: its ceilings

    def _note_origins(self, own: Run) -> None:
        """Write what this job runs on into the submission's folder."""
        job = job_here()
        for number, origin in enumerate(own.provenance.origins):
            fields = {name: getattr(origin, name) for name in Origin.model_fields}
            record = Origin.model_validate(fields | {"job": job})
            name = f"{self.number}.{job.id}.{job.restarts}.{number}.origin.json"
            files.write_json(self.submission / name, record.as_json())


def job_here() -> Job:
    """Return the batch system's job that this process runs in, by SLURM's environment."""
    variables = os.environ
    array, number = (
        variables.get("SLURM_ARRAY_JOB_ID"),
        variables.get("SLURM_JOB_ID", str(os.getpid())),
    )
    return Job(
        system="slurm",
        id=f"{array}_{variables.get('SLURM_ARRAY_TASK_ID', '')}" if array else number,
        node=variables.get("SLURMD_NODENAME") or socket.gethostname(),
        restarts=int(variables.get("SLURM_RESTART_COUNT", "0")),
    )


def _say(line: str) -> None:
    """Write a line to the job's log."""
    print(line, flush=True)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


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
