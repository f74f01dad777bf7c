"""``harness report``, ``extract``, ``check``: from captures to tables, verdicts and a worklog."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.analysis.claims import ClaimResult
    from harness.evidence.tables import Tables
    from harness.problem.model import Problem

RunOption = Annotated[
    Path | None, typer.Option("--run", help="A run folder; the newest if absent.")
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", help="A report's folder; the published one if there is no run."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print as JSON.")]


def extract(
    problem: Annotated[str, typer.Argument(help="Number, name or folder of the problem.")],
    run: RunOption = None,
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
        print(f"{name:16} {table.height:9,} rows")
    print(f"evidence: {folder.folder / 'evidence'}")


def report(
    problem: Annotated[str | None, typer.Argument(help="All committed reports if absent.")] = None,
    run: RunOption = None,
    report: ReportOption = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a report that holds more than the run.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write a run's worklog; without a run, render a report again from its evidence."""
    from harness import checkout
    from harness.cli import output
    from harness.cli.resolve import problem_of, run_or_report, sources_now
    from harness.report import index, publish
    from harness.report.escape import printable
    from harness.store.run_folder import Run

    lost, outside_git = "", 0
    if problem is None and report is None:
        folders = index.reports(checkout.reports())
        for folder in folders:
            publish.render(problem_of(folder.parent.name), folder)
    else:
        study, source = run_or_report(problem, run, report)
        if isinstance(source, Run):
            published = publish.publish(
                study, source, checkout.reports(), checkout.captures(), replace=replace
            )
            folders = [published.folder]
            lost, outside_git = published.loss, published.outside_git
        else:
            publish.render(study, source)
            folders = [source]
    index.write(checkout.reports(), sources_now())
    worklogs = [str(folder / "README.md") for folder in folders]
    if json:
        output.as_json({"worklogs": worklogs, "partial": lost, "outside_git": outside_git})
        return
    if lost:
        print(f"partial, beside the report: {printable(lost)} (--replace replaces it)")
    if outside_git:
        print(f"captures outside git: {outside_git} (harness captures push DEST shares them)")
    for worklog in worklogs:
        print(f"worklog: {worklog}")


def check(
    problem: Annotated[
        str | None, typer.Argument(help="Number, name or folder; the report's if absent.")
    ] = None,
    run: RunOption = None,
    report: ReportOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let an inconclusive claim fail as well.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Judge claims: exit 0 if none is refuted, 1 if one is, 3 if none could be measured.

    Judges the run given, the report given, the newest run, or else the published report.
    """
    from harness.analysis import claims
    from harness.analysis.metrics import Metrics
    from harness.cli import output
    from harness.cli.resolve import run_or_report
    from harness.extract import door
    from harness.report.escape import printable
    from harness.store.run_folder import Run

    study, source = run_or_report(problem, run, report)
    if isinstance(source, Run):
        evidence = door.run(source, source.folder / "evidence")
    else:
        evidence = door.report(source)
    metrics = Metrics(study, evidence.tables, evidence.origin.gpus)
    results = claims.judge(study, metrics, evidence.origin.run.target.device)
    if json:
        output.as_json([_result(study, result) for result in results])
    else:
        kind = "run" if isinstance(source, Run) else "report"
        print(f"judged: {kind} {printable(evidence.label)}")
        _print_results(study, results, evidence.tables)
    raise typer.Exit(claims.exit_code(results, strict=strict))


def _result(study: "Problem", result: "ClaimResult") -> dict[str, object]:
    from harness.report import verdicts

    measured = result.measured
    return {
        "id": result.claim.id,
        "kind": result.claim.kind,
        "verdict": result.verdict,
        "statement": result.claim.statement,
        "value": measured.value,
        "low": measured.low,
        "high": measured.high,
        "unit": measured.unit,
        "why": verdicts.why(study, result),
        "doubt": measured.doubt,
    }


def _print_results(study: "Problem", results: list["ClaimResult"], tables: "Tables") -> None:
    from harness.analysis import reliability
    from harness.cli import output
    from harness.report import verdicts
    from harness.report.escape import printable
    from harness.report.numbers import measured

    for kind, value in (("bound", "measured"), ("advice", "least gain")):
        rows = [
            (
                result.claim.id,
                result.verdict,
                measured(result.measured),
                verdicts.why(study, result),
                result.measured.doubt,
            )
            for result in results
            if result.claim.kind == kind
        ]
        if rows:
            name = "claim" if kind == "bound" else "advice"
            output.table((name, "verdict", value, "why", "doubt"), rows)
    for note in reliability.notes(tables):
        print(f"noticed: {printable(note)}")


def schema() -> None:
    """Print the JSON schema of problem.yaml, for editors."""
    from harness.cli import output
    from harness.problem.model import Problem

    output.as_json(Problem.model_json_schema())
