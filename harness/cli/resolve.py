"""The problem, the run or the published report that a command line means."""

from pathlib import Path

from harness.cli import output
from harness.ground import checkout
from harness.ground.errors import UsageError
from harness.problem import located_yaml, manifest
from harness.problem.model import Problem
from harness.store.run_folder import Run


def problem_of(wanted: str) -> Problem:
    """Return the problem of that number, name or folder."""
    return manifest.find(checkout.problems(), wanted)


def chosen_run(wanted: str | None, run: Path | None) -> tuple[Problem, Run]:
    """Return the problem and its run: the one given, which also names the problem, or the newest.

    Raises UsageError if neither is given, or the run is of another problem.
    """
    if run and wanted is None:
        wanted = _here(Run.open(run).provenance.problem, "run", run)
    if wanted is None:
        remedy = "give its number, or a report with --report, or a run with --run"
        raise UsageError("no problem named", remedy=remedy)
    problem = problem_of(wanted)
    chosen = Run.open(run) if run else Run.latest(checkout.runs(), problem.folder.name)
    if chosen.provenance.problem != problem.folder.name:
        raise UsageError(f"a run of {chosen.provenance.problem}", where=chosen.folder)
    note_unsealed(chosen)
    return problem, chosen


def note_unsealed(run: Run) -> None:
    """Say on stderr which records of a run an earlier harness wrote without their sha256."""
    unsealed = run.unsealed
    if unsealed:
        first, *others = unsealed
        which = f"{first} and {len(others)} more records" if others else f"the record {first}"
        what = f"an earlier harness wrote no sha256 to {which}"
        output.say(f"note: {what}: damage there goes unnoticed", to_stderr=True)


def run_or_report(
    wanted: str | None, run: Path | None, report: Path | None
) -> tuple[Problem, Run | Path]:
    """Return what :func:`run_or_reports` does, of several reports that of this machine's target."""
    problem, subjects = run_or_reports(wanted, run, report)
    if isinstance(subjects[0], Run):
        return problem, subjects[0]
    return problem, _of_this_machine([each for each in subjects if isinstance(each, Path)])


def run_or_reports(
    wanted: str | None, run: Path | None, report: Path | None
) -> tuple[Problem, list[Run | Path]]:
    """Return the problem with its run, or with the folders of its reports.

    That is ``run`` or ``report`` if given, else the problem's newest run, else its published
    reports. Without ``wanted``, ``run`` or ``report`` names the problem. Raises UsageError if the
    arguments contradict each other, StoreError if the problem has neither a run nor a report.
    """
    if run and report:
        raise UsageError("--run and --report exclude each other")
    if report:
        return problem_of_report(wanted, report), [report]
    if run or wanted is None:
        problem, newest = chosen_run(wanted, run)
        return problem, [newest]
    problem = problem_of(wanted)
    name = problem.folder.name
    published = [] if Run.folders(checkout.runs(), name) else _published(name)
    return problem, [*published] or [chosen_run(wanted, run)[1]]


def recorded_folder(wanted: str | None, run: Path | None, report: Path | None) -> Path:
    """Return the folder of the run or the report that :func:`run_or_report` means, unread.

    Its records may be damaged. Raises UsageError if the folder is neither.
    """
    if run and report:
        raise UsageError("--run and --report exclude each other")
    for folder, mark in ((run, "run.json"), (report, "evidence")):
        if folder and not (folder / mark).exists():
            raise UsageError(f"not a {'run' if run else 'report'}: no {mark}", where=folder)
        if folder:
            return folder
    if wanted is None:
        remedy = "give its number, or a report with --report, or a run with --run"
        raise UsageError("no problem named", remedy=remedy)
    name = problem_of(wanted).folder.name
    runs = Run.folders(checkout.runs(), name)
    return runs[-1] if runs else published_report(wanted, None)[1]


def published_report(wanted: str | None, report: Path | None) -> tuple[Problem, Path]:
    """Return a problem with the report given, else with its published one; UsageError if none."""
    if report:
        return problem_of_report(wanted, report), report
    if wanted is None:
        raise UsageError("no problem named", remedy="give its number, or a report with --report")
    problem = problem_of(wanted)
    published = _published(problem.folder.name)
    if not published:
        what = f"no report of {problem.folder.name}"
        raise UsageError(what, remedy=f"make problem-{problem.number} FULL=1 makes one")
    return problem, _of_this_machine(published)


def problem_of_report(wanted: str | None, report: Path) -> Problem:
    """Return the problem that a report is of; UsageError if it is not here, or not ``wanted``."""
    from harness.extract import door

    name = door.provenance_of(report).run.problem
    problem = problem_of(wanted or _here(name, "report", report))
    if problem.folder.name != name:
        raise UsageError(f"a report of {name}", where=report)
    return problem


def _here(problem: str, kind: str, where: Path) -> str:
    """Return a problem's name; UsageError if the checkout has no such problem."""
    here = [folder.name for folder in manifest.folders(checkout.problems())]
    if problem not in here:
        what = f"a {kind} of {located_yaml.shown(problem)}, and there is no such problem"
        raise UsageError(what, where=where, remedy=f"there are: {', '.join(here)}")
    return problem


def _published(problem: str) -> list[Path]:
    """Return the folders of a problem's reports, one a target."""
    from harness.report import index

    return [folder for folder in index.reports(checkout.reports()) if folder.parent.name == problem]


def _of_this_machine(reports: list[Path]) -> Path:
    """Return the only report, else that of this machine's target; UsageError without any."""
    from harness.machine import target

    if len(reports) == 1:
        return reports[0]
    here = target.detect().slug
    for report in reports:
        if report.name == here:
            return report
    names = ", ".join(report.name for report in reports)
    raise UsageError(
        f"reports of {len(reports)} targets and none of {here}: {names}",
        where=reports[0].parent,
        remedy="name one with --report DIR",
    )
