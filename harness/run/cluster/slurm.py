"""SLURM, through submitit: jobs are submitted as arrays, looked up by name, and cancelled."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.ground import process
from harness.ground.errors import ToolError
from harness.run.cluster.job import JobPart
from harness.run.cluster.profile import Slurm
from harness.run.cluster.submission import Submission

_ACTIVE = {
    *("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING"),
    *("REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "STAGE_OUT", "SIGNALING"),
}
"""States (squeue(1), JOB STATE CODES) of a job that runs, or may yet."""


@dataclass(frozen=True)
class State:
    """One job of a submission: its part, its id, and what SLURM says of it."""

    part: int
    job: str
    state: str
    reason: str

    @property
    def active(self) -> bool:
        """Return whether the job runs, or may yet."""
        return self.state in _ACTIVE


def check() -> None:
    """Raise ToolError unless this machine can submit jobs, ModuleNotFoundError without submitit."""
    import submitit  # noqa: F401

    if shutil.which("sbatch") is None:
        raise ToolError("not found on PATH", where="sbatch", remedy="run it on a login node")


def submit(
    profile: Slurm, submission: Submission, parts: Sequence[JobPart], *, alone: bool
) -> list[str]:
    """Submit the parts, as an array if there are several; return the jobs' ids.

    ``alone``: each has its node to itself. Raises ToolError if SLURM is absent or refuses.
    """
    import subprocess

    from submitit import SlurmExecutor
    from submitit.core.utils import FailedJobError

    folder = submission.folder.resolve()
    try:
        executor = SlurmExecutor(folder, max_num_timeout=profile.requeues)
        executor.update_parameters(**parameters(profile, submission.name, alone=alone))
        with executor.batch():
            jobs = [executor.submit(part) for part in parts]
        return [job.job_id for job in jobs]
    except (RuntimeError, FailedJobError, OSError, subprocess.CalledProcessError) as error:
        raise ToolError(f"not submitted: {_first_line(error)}", where="sbatch") from error


def parameters(profile: Slurm, name: str, *, alone: bool) -> dict[str, Any]:
    """Return the options of ``sbatch`` as submitit takes them."""
    own = ("partition", "account", "qos", "gres", "constraint", "nodelist", "exclude")
    given = {key: getattr(profile, key) for key in own}
    cpus, memory = profile.cpus_per_task, profile.mem_gb
    return {
        **{key: value for key, value in given.items() if value is not None},
        "job_name": name,
        "time": profile.time,
        "nodes": 1,
        "ntasks_per_node": 1,
        "array_parallelism": profile.array_parallelism,
        "signal_delay_s": profile.signal_delay_s,
        "stderr_to_stdout": True,
        **({"cpus_per_task": cpus} if cpus else {}),
        **({"mem": f"{memory}G"} if memory else {}),
        **({"exclusive": True} if alone else {}),
        **({"setup": profile.setup} if profile.setup else {}),
        # A step does not take its job's number of CPUs over by itself (srun(1), --cpus-per-task).
        "srun_args": [f"--cpus-per-task={cpus}"] if cpus else [],
        "additional_parameters": {"requeue": True, **profile.options},
    }


def states(submission: Submission) -> list[State]:
    """Return the jobs of a submission that SLURM still knows; ToolError if it does not answer."""
    asked = ["squeue", "--noheader", "--array", "--states=all", f"--name={submission.name}"]
    listed = []
    for line in process.output([*asked, "--format=%K|%i|%T|%r"]).splitlines():
        index, job, state, reason = line.strip().split("|", 3)
        listed.append(State(int(index) if index.isdigit() else 0, job, state, reason))
    return listed


def cancel(submission: Submission) -> None:
    """Cancel the jobs of a submission; ToolError if SLURM does not answer."""
    process.output(["scancel", f"--name={submission.name}"])


def log(submission: Submission, job: str) -> Path:
    """Return the log of a job."""
    return submission.folder / f"{job}_0_log.out"


def _first_line(error: Exception) -> str:
    """Return the first line of what went wrong that says something."""
    said = getattr(error, "stderr", None) or str(error)
    return next((line for line in str(said).splitlines() if line.strip()), type(error).__name__)
