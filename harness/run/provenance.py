"""The origin of a run: what was asked for, the software, the machine; and how a run goes on."""

import hashlib
import time
from pathlib import Path

from harness import __version__
from harness.engines.engine import Engine
from harness.evidence.provenance import (
    Ceilings,
    EngineRecord,
    Git,
    Origin,
    RunArguments,
    TargetRecord,
)
from harness.ground import git
from harness.ground.errors import UsageError
from harness.machine.target import Target
from harness.problem import history, started
from harness.problem.model import Problem
from harness.problem.names import MANIFEST
from harness.problem.state import state
from harness.store import run_folder

_BUT_REPORTS = (":(top)", ":(top,exclude)reports")


def origin_of(
    problem: Problem, engine: Engine, arguments: RunArguments, ceilings: Ceilings | None = None
) -> Origin:
    """Return the origin of a run that begins now."""
    target = TargetRecord.model_validate(engine.node.target.as_dict())
    record = EngineRecord.model_validate(engine.provenance())
    additions = {"engine": record, "ceilings": ceilings}
    return submitted(problem, target, arguments).model_copy(update=additions)


def submitted(problem: Problem, target: TargetRecord, arguments: RunArguments) -> Origin:
    """Return the origin of a run that begins now, and whose cells other machines will run."""
    manifest = (problem.folder / MANIFEST).read_bytes()
    claims = started.since(started.started(problem), history.versions(problem.folder))
    return Origin(
        problem=problem.folder.name,
        harness=__version__,
        git=_git(problem.folder),
        manifest_sha256=hashlib.sha256(manifest).hexdigest(),
        state=state(problem),
        claims=claims,
        target=target,
        arguments=arguments,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )


def check_resumable(run: run_folder.Run, problem: Problem, target: Target) -> None:
    """Raise UsageError unless the run is of this problem, on this model of GPU and this driver."""
    here = Origin(problem=problem.folder.name, target=TargetRecord.model_validate(target.as_dict()))
    for name, recorded, actual in run_folder.differing(run.provenance, here):
        raise UsageError(f"the run's {name} is {recorded}, here it is {actual}", where=run.folder)


def note_resumed(run: run_folder.Run, origin: Origin) -> None:
    """Record in the run that it goes on with ``origin``."""
    record = run.recorded
    run.note(record.model_copy(update={"resumed": (*record.resumed, origin)}))


def _git(folder: Path) -> Git:
    """Return the checkout's commit; one without file contents (a partial clone) is enough.

    The reports do not count as changes: no run reads them, and the run before may have written one.
    """
    commit = git.said(["rev-parse", "HEAD"], folder)
    changes = git.said(["status", "--porcelain", "--no-renames", "--", *_BUT_REPORTS], folder)
    return Git() if commit is None or changes is None else Git(commit=commit, changed=bool(changes))
