"""``harness report``, ``extract``, ``check``: from captures to tables, verdicts and a worklog."""

from pathlib import Path
from typing import Annotated

import typer

RunOption = Annotated[
    Path | None, typer.Option("--run", help="A run folder; the newest if absent.")
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
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a report that holds more than the run.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write a run's worklog; without a problem, render every report again from its evidence."""
    from harness import checkout
    from harness.cli import output
    from harness.cli.resolve import chosen_run, problem_of
    from harness.report import index, publish
    from harness.report.escape import printable

    lost = ""
    if problem is None:
        folders = index.reports(checkout.reports())
        for folder in folders:
            publish.render(problem_of(folder.parent.name), folder)
    else:
        published = publish.publish(
            *chosen_run(problem, run), checkout.reports(), checkout.captures(), replace=replace
        )
        folders, lost = [published.folder], published.loss
    index.write(checkout.reports())
    worklogs = [str(folder / "README.md") for folder in folders]
    if json:
        output.as_json({"worklogs": worklogs, "partial": lost})
        return
    if lost:
        print(f"partial, beside the report: {printable(lost)} (--replace replaces it)")
    for worklog in worklogs:
        print(f"worklog: {worklog}")


def check(
    problem: Annotated[str, typer.Argument(help="Number, name or folder of the problem.")],
    run: RunOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let an inconclusive claim fail as well.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Judge a run's claims: exit 0 if none is refuted, 1 if one is, 3 if none could be measured."""
    from harness.analysis import claims, reliability
    from harness.analysis.metrics import Metrics
    from harness.cli import output
    from harness.cli.resolve import chosen_run
    from harness.evidence import provenance
    from harness.extract import run as extraction
    from harness.report.escape import printable
    from harness.report.numbers import measured

    chosen, made = chosen_run(problem, run)
    tables = extraction.extract(made, made.folder / "evidence")
    noticed = reliability.notes(tables)
    origin = provenance.load(made.folder / "evidence")
    metrics = Metrics(chosen, tables, origin.gpus)
    judged = claims.judge(chosen, metrics, origin.run.target.device)
    if json:
        output.as_json(
            [
                {
                    "id": one.claim.id,
                    "verdict": one.verdict,
                    "statement": one.claim.statement,
                    "value": one.measured.value,
                    "low": one.measured.low,
                    "high": one.measured.high,
                    "unit": one.measured.unit,
                    "why": one.measured.why,
                    "doubt": one.measured.doubt,
                }
                for one in judged
            ]
        )
    else:
        rows = [
            (
                one.claim.id,
                one.verdict,
                one.measured.why or measured(one.measured),
                one.measured.doubt,
            )
            for one in judged
        ]
        output.table(("claim", "verdict", "measured", "doubt"), rows)
        for note in noticed:
            print(f"noticed: {printable(note)}")
    raise typer.Exit(claims.exit_code(judged, strict=strict))


def schema() -> None:
    """Print the JSON schema of problem.yaml, for editors."""
    from harness.cli import output
    from harness.problem.model import Problem

    output.as_json(Problem.model_json_schema())
