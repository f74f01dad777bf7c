"""Following jobs: what they say is told once, and a controller that is silent ends nothing."""

from pathlib import Path

import pytest

from harness.ground import checkout
from harness.ground.errors import ToolError, UsageError
from harness.problem.plan import Cell, Selected
from harness.run.cluster import session, slurm
from harness.run.cluster.profile import Profile, Slurm
from harness.run.cluster.session import Follower
from harness.run.cluster.slurm import State
from harness.run.cluster.submission import CellProgress, Submission
from harness.run.session import Request
from tests.support.manifests import GOOD, written
from tests.support.reports import committed

Told = list[tuple[str, str]]


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> session.Batch:
    """A run of two cells that were submitted as one part."""
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    monkeypatch.setattr(session, "_LOOK_S", 0.01)
    (tmp_path / "problems").mkdir()
    written(tmp_path / "problems", GOOD)
    profile = Profile(slurm=Slurm())
    asked = session.session(Request("9", Selected(rounds=1), "local"), profile)
    made = session.Batch(asked, asked.run())
    made.followed.append(Submission.create(made.run, [[cell.id for cell in asked.cells]]))
    return made


def say(batch: session.Batch, number: int, status: str) -> None:
    batch.followed[0].say(0, CellProgress(batch.cells[number].id, status, 1.0))


def test_a_job_that_starts_again_is_told_once(batch: session.Batch) -> None:
    told: Told = []

    def notify(cell: Cell, status: str, _seconds: float) -> None:
        told.append((cell.variant, status))

    follower = Follower(batch.followed, batch.cells)
    for number, status in ((0, "running"), (0, "ok"), (1, "running")):
        say(batch, number, status)
    assert follower.tell(notify) is False
    for number, status in ((1, "running"), (1, "failed: out of memory")):  # requeued
        say(batch, number, status)
    say(batch, 0, "ok")
    assert follower.tell(notify) is True
    assert told == [
        ("slow", "running"),
        ("slow", "ok"),
        ("fast", "running"),
        ("fast", "failed: out of memory"),
    ]


def test_a_controller_that_does_not_answer_ends_nothing(
    batch: session.Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[list[State] | None] = [
        None,
        [State(0, "1", "RUNNING", "None")],
        None,
        [State(0, "1", "TIMEOUT", "TimeLimit")],
    ]
    told: Told = []

    def states(_submission: Submission) -> list[State]:
        answer = answers.pop(0)
        if answer is None:
            say(batch, 0, "ok")
            raise ToolError("Unable to contact slurm controller", where="squeue")
        return answer

    monkeypatch.setattr(slurm, "states", states)
    batch.follow(lambda cell, status, _seconds: told.append((cell.variant, status)))
    assert (answers, told) == ([], [("slow", "running"), ("slow", "ok")])


def test_a_job_that_ended_with_cells_left_is_told(
    batch: session.Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = [State(0, "17", "NODE_FAIL", "NodeDown")]
    monkeypatch.setattr(slurm, "states", lambda _submission: ended)
    (line,) = batch.losses()
    assert line.startswith("job 17: NODE_FAIL, 2 cells not run: ")
    assert line.endswith("jobs/0/17_0_log.out")


def test_a_report_does_not_go_on_as_jobs() -> None:
    request = Request("12", resume=committed("12-split-a-model"))
    with pytest.raises(UsageError, match="a cluster's jobs do not go on from a report"):
        session.session(request, Profile(slurm=Slurm()))
