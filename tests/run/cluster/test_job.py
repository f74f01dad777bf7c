"""A job on a node that is not the one the run was planned for."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.ground import checkout
from harness.ground.errors import ToolError
from harness.machine.host import Host
from harness.problem.plan import Selected
from harness.run.cluster import session
from harness.run.cluster.job import JobPart, job_here
from harness.run.cluster.profile import Profile, Slurm
from harness.run.session import Request
from tests.support import part_process
from tests.support.bench import on_cpu
from tests.support.manifests import GOOD, written


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobPart:
    """The only part of a plan for a node without a GPU."""
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.setattr(Host, "detect", on_cpu)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    (tmp_path / "problems").mkdir()
    written(tmp_path / "problems", GOOD)
    asked = session.session(Request("9", Selected(rounds=1), "local"), Profile(slurm=Slurm()))
    (part,) = part_process.carried(asked)
    return part


def test_another_gpu_than_the_profiles_runs_no_cell(part: JobPart) -> None:
    with pytest.raises(ToolError, match="the job's GPU is None, and the cluster's profile says H"):
        replace(part, gpu="H200")()
    assert not list(part.run.glob("cells/*"))


def test_scripts_that_changed_since_the_submission_run_no_cell(
    part: JobPart, tmp_path: Path
) -> None:
    script = tmp_path / "problems" / "9-example" / "repro.py"
    script.write_text(f"{script.read_text()}ANOTHER = 1\n")
    with pytest.raises(ToolError, match="the problem's files changed since the job was submitted"):
        part()
    assert not list(part.run.glob("cells/*"))


@pytest.mark.parametrize(
    ("known", "job"),
    [
        ({"SLURM_JOB_ID": "17"}, ("17", 0)),
        (
            {"SLURM_JOB_ID": "18", "SLURM_ARRAY_JOB_ID": "17", "SLURM_ARRAY_TASK_ID": "1"},
            ("17_1", 0),
        ),
        ({"SLURM_JOB_ID": "17", "SLURM_RESTART_COUNT": "2"}, ("17", 2)),
    ],
)
def test_a_job_knows_its_own_id(
    monkeypatch: pytest.MonkeyPatch, known: dict[str, str], job: tuple[str, int]
) -> None:
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SLURMD_NODENAME", "node7")
    here = job_here()
    assert ((here.id, here.restarts), here.node, here.system) == (job, "node7", "slurm")
