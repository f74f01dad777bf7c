"""``harness report`` and ``extract``: from captures to tables and a worklog."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.cli.problem_argument import Problem, ReportFolder, RunFolder

if TYPE_CHECKING:
    from harness.report.publish import Published

_NOT_RENDERED = 2

JsonOption = Annotated[bool, typer.Option("--json", help="Print as JSON.")]


def extract(
    problem: Problem,
    run: RunFolder = None,
    json: JsonOption = False,
) -> None:
    """Turn a run's captures into evidence tables beside them."""
    from harness.cli import output
    from harness.cli.resolve import chosen_run
    from harness.extract import run as extraction

    folder = chosen_run(problem, run)[1]
    tables = extraction.extract(folder, folder.folder / "evidence")
    if json:
        rows = {name: table.height for name, table in tables.items()}
        output.as_json({"evidence": str(folder.folder / "evidence"), "rows": rows})
        return
    for name, table in tables.items():
        output.say(f"{name:16} {table.height:9,} rows")
    output.say(f"evidence: {folder.folder / 'evidence'}")


def report(
    problem: Annotated[
        str | None,
        typer.Argument(help="All committed reports if absent.", autocompletion=completion.problems),
    ] = None,
    run: RunFolder = None,
    report: ReportFolder = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a report that holds more than the run.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write a run's worklog, or render a report again.

    A report is rendered from its evidence alone.
    """
    from harness.cli import output
    from harness.cli.resolve import run_or_report
    from harness.ground import checkout
    from harness.report import across, index, publish
    from harness.store.run_folder import Run

    published = None
    told: list[str] = []
    if problem is None and report is None:
        folders, told = _rendered(index.reports(checkout.reports()))
    else:
        study, source = run_or_report(problem, run, report)
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


def _print(folders: list[Path], published: "Published | None", *, json: bool) -> None:
    """Print which worklogs were written, and of a run what its report is short of."""
    from harness.cli import output

    worklogs = [str(folder / "README.md") for folder in folders]
    lost, outside_git = (published.loss, published.outside_git) if published else ("", 0)
    if json:
        output.as_json({"worklogs": worklogs, "partial": lost, "outside_git": outside_git})
        return
    if published and published.unfinished:
        output.say("unfinished: {} of {} cells were run".format(*published.unfinished))
    if lost:
        output.say(f"partial, beside the report: {lost} (--replace replaces it)")
    if outside_git:
        output.say(f"captures outside git: {outside_git} (harness captures push DEST shares them)")
    for worklog in worklogs:
        output.say(f"worklog: {worklog}")


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
