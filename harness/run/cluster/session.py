"""A run on a cluster from request to cells: understand, submit, follow, go on with the rest."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from harness.evidence.provenance import TargetRecord
from harness.ground import checkout
from harness.ground.endings import uninterrupted
from harness.ground.errors import ToolError, UsageError
from harness.problem import comparisons
from harness.problem.model import Problem
from harness.problem.plan import Able, Cell, plan
from harness.run import provenance
from harness.run.cluster import slurm
from harness.run.cluster.job import JobPart
from harness.run.cluster.profile import Profile
from harness.run.cluster.submission import Submission, submissions
from harness.run.execute import Notify, unfinished
from harness.run.session import Request, Session, asked, selection
from harness.store.run_folder import Run

_LOOK_S = 1.0
_MOST_S = 15.0
"""From one question to SLURM to the next: at first after a second, at most after these."""


@dataclass(frozen=True)
class OnCluster(Session):
    """A session whose cells run as jobs of a cluster."""

    profile: Profile

    @property
    def parts(self) -> list[list[Cell]]:
        """Return the cells of each job."""
        return comparisons.jobs(self.problem, self.to_run, self.profile.jobs)

    def run(self) -> Run:
        """Return the run's folder, which is made if the run is new."""
        if self.resumed:
            return self.resumed
        arguments = self.arguments(self.request.engine, self.request.jobs, self.cells)
        origin = provenance.submitted(self.problem, _target(self.profile), arguments)
        return Run.create(checkout.runs(), self.problem.folder.name, origin)


@dataclass
class Batch:
    """A run whose cells are jobs of SLURM; ``followed`` are submissions with jobs that go on."""

    session: OnCluster
    run: Run
    followed: list[Submission] = field(default_factory=list)

    @property
    def problem(self) -> Problem:
        """Return the run's problem."""
        return self.session.problem

    @property
    def cells(self) -> list[Cell]:
        """Return the cells of the plan."""
        return self.session.cells

    @property
    def to_run(self) -> list[Cell]:
        """Return the cells that are not finished."""
        return unfinished(self.run, self.cells)

    def submit(self) -> list[str]:
        """Submit the unfinished cells that no job has; return the new jobs' ids.

        Jobs that an earlier call left are followed as well. ToolError if SLURM does not answer.
        """
        taken: set[str] = set()
        for submission in submissions(self.run):
            cells_of_part = submission.parts
            going_on = {state.part for state in slurm.states(submission) if state.active}
            if going_on:
                self.followed.append(submission)
                taken |= {cell for part in going_on for cell in cells_of_part[part]}
        if not self.followed:
            self.run.remove_leftovers()  # nobody works on it
        rest = [cell for cell in self.to_run if cell.id not in taken]
        parts = comparisons.jobs(self.problem, rest, self.session.profile.jobs)
        alone = [part for part in parts if any(cell.loads_host for cell in part)]
        beside = [part for part in parts if part not in alone]
        return [*self._submitted(beside, alone=False), *self._submitted(alone, alone=True)]

    def _submitted(self, parts: list[list[Cell]], *, alone: bool) -> list[str]:
        if not parts:
            return []
        submission = Submission.create(self.run, [[cell.id for cell in part] for part in parts])
        request = replace(
            self.session.request,
            problem=str(self.problem.folder.resolve()),
            selected=self.session.selected,
            resume=None,
            full=False,
        )
        carried = [
            JobPart(
                self.run.folder,
                submission.folder,
                number,
                request,
                self.session.profile.gpu,
                {cell.id: cell.name for cell in part},
            )
            for number, part in enumerate(parts)
        ]
        with uninterrupted():  # after sbatch returns, submitit writes what the jobs wait for
            jobs = slurm.submit(self.session.profile.slurm, submission, carried, alone=alone)
            self.followed.append(submission)
        return jobs

    def follow(self, notify: Notify) -> None:
        """Tell how cells go until all have ended or no job is left that could run them."""
        follower = Follower(self.followed, self.to_run)
        pause = looked = 0.0
        while not follower.tell(notify):
            if time.monotonic() > looked + pause:
                if not self._goes_on():
                    follower.tell(notify)  # what was said since
                    return
                looked, pause = time.monotonic(), min(_MOST_S, pause + _LOOK_S)
            time.sleep(_LOOK_S)

    def cancel(self) -> None:
        """Cancel the jobs that are followed; what has landed stays."""
        for submission in self.followed:
            slurm.cancel(submission)

    def losses(self) -> Iterator[str]:
        """Yield a line for each job that ended with cells left, with SLURM's word for its end."""
        recorded = {folder.name for folder, _ in self.run.records()}
        for submission in self.followed:
            for state in slurm.states(submission):
                left = [cell for cell in submission.parts[state.part] if cell not in recorded]
                if left and not state.active:
                    where = slurm.log(submission, state.job)
                    yield f"job {state.job}: {state.state}, {len(left)} cells not run: {where}"

    def _goes_on(self) -> bool:
        """Return whether any job that is followed runs, or may yet.

        While SLURM does not answer, as when its controller restarts, the jobs go on.
        """
        try:
            states = [slurm.states(submission) for submission in self.followed]
        except ToolError:
            return True
        return any(state.active for of in states for state in of)


def session(request: Request, profile: Profile) -> OnCluster:
    """Check a request and return its session on a cluster; this writes nothing.

    Raises UsageError, ManifestError or StoreError for a part that cannot be met.
    """
    if request.gpus:
        remedy = "the profile's gpus says how many a job gets"
        raise UsageError("--gpus names GPUs of this host", remedy=remedy)
    request.options.check()
    problem, resumed = asked(request)
    if resumed:
        _check_resumable(resumed, problem, profile)
    selected = selection(request, problem, resumed)
    cells = plan(problem, selected, profile.device, here=Able(profile.gpus))
    return OnCluster(request, problem, selected, cells, resumed, profile)


def _check_resumable(run: Run, problem: Problem, profile: Profile) -> None:
    """Raise UsageError unless a run is of this problem, and was submitted for this GPU."""
    if run.report:  # whose origin stays that of the report, not of the first job
        what = "a cluster's jobs do not go on from a report"
        raise UsageError(what, where=run.folder, remedy="run it on one machine, without --on")
    recorded, wanted = run.recorded, _target(profile).name
    for what, then, now in (
        ("problem", recorded.problem, problem.folder.name),
        ("target", recorded.target.name, wanted),
    ):
        if then != now:
            raise UsageError(f"the run's {what} is {then}, here it is {now}", where=run.folder)


def _target(profile: Profile) -> TargetRecord:
    """Return the target as the profile describes it, before a job has seen a node."""
    name = profile.gpu or "CPU"
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return TargetRecord(name=name, slug=slug, device=profile.device)


class Follower:
    """Passes the events of jobs on, as an execution on this host would tell them.

    A cell is told once that it runs and once that it ended, whatever a job that was queued again
    does a second time. ``cells`` are those to tell of.
    """

    def __init__(self, submissions: Sequence[Submission], cells: Sequence[Cell]) -> None:
        self._submissions = submissions
        self._waiting = {cell.id: cell for cell in cells}
        self._running: dict[str, Cell] = {}
        self._seen: dict[tuple[str, int], int] = {}

    def tell(self, notify: Notify) -> bool:
        """Tell what is new; return whether every cell has ended."""
        for submission in self._submissions:
            for part in range(len(submission.parts)):
                key = (submission.name, part)
                events = submission.events(part)
                for event in events[self._seen.get(key, 0) :]:
                    self._tell(event.cell, event.status, event.seconds, notify)
                self._seen[key] = len(events)
        return not self._waiting and not self._running

    def _tell(self, cell: str, status: str, seconds: float, notify: Notify) -> None:
        if cell in self._waiting:
            self._running[cell] = self._waiting.pop(cell)
            notify(self._running[cell], "running", 0.0)
        if status != "running" and cell in self._running:
            notify(self._running.pop(cell), status, seconds)
