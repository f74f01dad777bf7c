"""The problem and run that a command line means."""

from pathlib import Path

from harness import checkout
from harness.errors import UsageError
from harness.problem import manifest
from harness.problem.model import Problem
from harness.store.run_folder import Run


def problem_of(wanted: str) -> Problem:
    """Return the problem of that number, name or folder."""
    return manifest.find(checkout.problems(), wanted)


def chosen_run(wanted: str, run: Path | None) -> tuple[Problem, Run]:
    """Return the problem and its run: the one given, else the newest."""
    problem = problem_of(wanted)
    chosen = Run.open(run) if run else Run.latest(checkout.runs(), problem.folder.name)
    if chosen.provenance.problem != problem.folder.name:
        raise UsageError(f"a run of {chosen.provenance.problem}", where=chosen.folder)
    return problem, chosen
