"""``harness report``: from captures to tables and a worklog; several runs as one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion, output
from harness.cli.problem_argument import ReportFolder, RunFolder
from harness.ground.errors import UsageError

if TYPE_CHECKING:
    from harness.report.publish import Published

_NOT_RENDERED = 2


@dataclass(frozen=True)
class Rendered:
    """The worklogs that were written; the lacks of a partial report; captures outside of git."""

    worklogs: list[str]
    partial: str
    outside_git: int


@dataclass(frozen=True)
class Extracted:
    """With ``--tables-only``: the folder of evidence, and the rows of each table."""

    evidence: str
    rows: dict[str, int]


@dataclass(frozen=True)
class Joined:
    """With ``--join``: the run that holds several, and how many cells it has."""

    run: str
    cells: int


def report(
    problem: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBLEM | RUNS",
            help="A problem's number, name or folder; with --join: run folders, two or more."
            " All committed reports if absent.",
            autocompletion=completion.problems,
        ),
    ] = None,
    run: RunFolder = None,
    report: ReportFolder = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a report that holds more than the run.")
    ] = False,
    tables_only: Annotated[
        bool, typer.Option("--tables-only", help="Write a run's evidence tables, and no page.")
    ] = False,
    join: Annotated[
        bool, typer.Option("--join", help="Join runs of one problem into one; write no page.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Write a run's worklog, or render a report again.

    A report is rendered from its evidence alone. With --tables-only: turn a run's captures into
    tables beside them. With --join: make one run of those that several GPUs of one model made; of a
    cell that several runs finished, the first run's counts.
    """
    if join and (run or report or replace or tables_only):
        raise UsageError("--join takes run folders alone", remedy="report the joined run then")
    if tables_only and (report or replace):
        raise UsageError("--tables-only is of a run", remedy="leave out --report and --replace")
    if join:
        _join([Path(folder) for folder in problem or ()], json=json)
        return
    if len(problem or ()) > 1:
        raise UsageError("one problem at a time", remedy="to make one run of several: --join")
    wanted = problem[0] if problem else None
    if tables_only:
        _extract(wanted, run, json=json)
    else:
        _write(wanted, run, report, replace=replace, json=json)


def _join(folders: list[Path], *, json: bool) -> None:
    """Make one run of several."""
    from harness.ground import checkout
    from harness.store import merge
    from harness.store.run_folder import Run

    if len(folders) < 2:
        raise UsageError("one run alone is joined already", remedy="give two run folders or more")
    target = checkout.runs()
    joined = merge.join([Run.open(folder) for folder in folders], target)
    made = Joined(str(joined.folder), sum(1 for _ in joined.records()))
    if json:
        output.as_json(made)
    else:
        output.say(f"run: {made.run}, {made.cells} cells")


def _extract(wanted: str | None, run: Path | None, *, json: bool) -> None:
    """Turn a run's captures into evidence tables beside them."""
    from harness.cli.resolve import chosen_run
    from harness.extract import run as extraction

    source = chosen_run(wanted, run)[1]
    folder = source.folder / "evidence"
    tables = extraction.extract(source, folder)
    made = Extracted(str(folder), {name: table.height for name, table in tables.items()})
    if json:
        output.as_json(made)
        return
    for name, rows in made.rows.items():
        output.say(f"{name:16} {rows:9,} rows")
    output.say(f"evidence: {made.evidence}")


def _write(
    wanted: str | None, run: Path | None, report: Path | None, *, replace: bool, json: bool
) -> None:
    """Write the worklog of a run or of a report, those of all reports if none of them is named."""
    from harness.cli.resolve import run_or_report
    from harness.ground import checkout
    from harness.report import across, index, publish
    from harness.store.run_folder import Run

    published = None
    told: list[str] = []
    if wanted is None and run is None and report is None:
        folders, told = _rendered(index.reports(checkout.reports()))
    else:
        study, source = run_or_report(wanted, run, report)
        if isinstance(source, Run):
            published = publish.publish(
                study, source, checkout.reports(), checkout.captures(), replace=replace
            )
            folders = [published.folder]
        else:
            publish.render(study, source)
            folders = [source]
    failed = bool(told)
    errors = map(str, across.renew(checkout.reports(), checkout.problems()))
    told += [
        f"the index is incomplete: {error}"
        for error in errors
        if not any(line.endswith(error) for line in told)
    ]
    for line in told:
        output.say(line, to_stderr=True)
    _print(folders, published, json=json)
    if failed:
        raise typer.Exit(_NOT_RENDERED)


def _rendered(reports: list[Path]) -> tuple[list[Path], list[str]]:
    """Render each report; return those that were, and a line on each that was not."""
    from harness.cli.resolve import problem_of_report
    from harness.ground.errors import HarnessError
    from harness.report import publish

    rendered, failed = [], []
    for report in reports:
        try:
            publish.render(problem_of_report(None, report), report)
        except HarnessError as error:
            failed.append(f"not rendered: {report}: {error}")
        else:
            rendered.append(report)
    return rendered, failed


def _print(folders: list[Path], published: "Published | None", *, json: bool) -> None:
    """Print which worklogs were written, and of a run what its report is short of."""
    lost, outside_git = (published.loss, published.outside_git) if published else ("", 0)
    made = Rendered([str(folder / "README.md") for folder in folders], lost, outside_git)
    if json:
        output.as_json(made)
        return
    if published and published.unfinished:
        output.say("unfinished: {} of {} cells were run".format(*published.unfinished))
    if lost:
        output.say(f"partial, beside the report: {lost} (--replace replaces it)")
    if outside_git:
        how = "harness contribute --push DEST shares them"
        output.say(f"captures outside git: {outside_git} ({how})")
    for worklog in made.worklogs:
        output.say(f"worklog: {worklog}")
