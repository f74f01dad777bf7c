"""``harness report``, ``extract``, ``check``: from captures to tables, verdicts and a worklog."""

from pathlib import Path
from typing import Annotated

import typer

RunOption = Annotated[
    Path | None, typer.Option("--run", help="A run folder; the newest if absent.")
]


def extract(
    problem: Annotated[str, typer.Argument(help="Number, name or folder of the problem.")],
    run: RunOption = None,
) -> None:
    """Turn a run's captures into evidence tables beside them."""
    from harness import extract as extraction
    from harness.cli.chosen import chosen_run

    folder = chosen_run(problem, run)[1]
    tables = extraction.extract(folder, folder.folder / "evidence")
    for name, table in tables.items():
        print(f"{name:16} {table.height:9,} rows")
    print(f"evidence: {folder.folder / 'evidence'}")


def report(
    problem: Annotated[str | None, typer.Argument(help="All committed reports if absent.")] = None,
    run: RunOption = None,
) -> None:
    """Write a run's worklog; without a problem, render every report again from its evidence."""
    from harness.cli import places
    from harness.cli.chosen import chosen_run, problem_of
    from harness.report import index, publish

    if problem is None:
        for folder in index.reports(places.REPORTS):
            publish.render(problem_of(folder.parent.name), folder)
            print(folder / "README.md")
        index.write(places.REPORTS)
        return
    chosen, made = chosen_run(problem, run)
    folder = publish.publish(chosen, made, places.REPORTS)
    index.write(places.REPORTS)
    print(f"worklog: {folder / 'README.md'}")


def check(
    problem: Annotated[str, typer.Argument(help="Number, name or folder of the problem.")],
    run: RunOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Judge a run's claims: exit 0 if none is refuted, 1 if one is, 3 if none could be measured."""
    from harness import claims
    from harness import extract as extraction
    from harness.analysis.metrics import Metrics
    from harness.cli import output
    from harness.cli.chosen import chosen_run
    from harness.report.numbers import measured

    chosen, made = chosen_run(problem, run)
    tables = extraction.extract(made, made.folder / "evidence")
    judged = claims.judge(chosen, Metrics(chosen, tables), made.provenance["target"]["device"])
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
                }
                for one in judged
            ]
        )
    else:
        rows = [
            (one.claim.id, one.verdict, one.measured.why or measured(one.measured))
            for one in judged
        ]
        output.table(("claim", "verdict", "measured"), rows)
    raise typer.Exit(claims.exit_code(judged))


def schema() -> None:
    """Print the JSON schema of problem.yaml, for editors."""
    from harness.cli import output
    from harness.problem import Problem

    output.as_json(Problem.model_json_schema())
