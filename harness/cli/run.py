"""``harness run``: execute a problem's cells on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import engine_options

if TYPE_CHECKING:
    from harness.run.session import Work

_SOME_FAILED = 4

Names = Annotated[list[str] | None, typer.Option(help="Only this one; may be given again.")]


def run(
    problem: Annotated[str, typer.Argument(help="Number, name or folder of the problem.")],
    variant: Names = None,
    case: Names = None,
    capture: Names = None,
    rounds: Annotated[
        int | None, typer.Option(help="Times that each timing cell runs, if not the problem's.")
    ] = None,
    engine: engine_options.Engine = "auto",
    python: engine_options.Python = None,
    wheels: engine_options.Wheels = None,
    build_arg: engine_options.BuildArguments = None,
    image: engine_options.Image = None,
    mount: engine_options.Mounts = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Cells that set up side by side; one measures. As the machine bears."),
    ] = None,
    lock_clocks: Annotated[
        int | None, typer.Option(help="Hold the SM clock at so many MHz; undone at the end.", min=1)
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with this run folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands only.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run a problem's cells, each in a process of its own; exit code 4 if some of them failed."""
    from harness.cli.progress import Progress
    from harness.problem.plan import Selected
    from harness.run.session import Request, session

    options = engine_options.options(python, wheels, image, mount, build_arg)
    selected = Selected(tuple(variant or ()), tuple(case or ()), tuple(capture or ()), rounds)
    understood = session(Request(problem, selected, engine, options, jobs, lock_clocks, resume))
    if dry_run:
        for line in understood.pasteable():
            print(line)
        return
    messages: list[str] = []
    work = understood.install(messages.append if json else print)
    with Progress(work.cells, work.durations(), jobs=work.jobs, quiet=json) as progress:
        work.execute(progress.notify)
    if json:
        _print_json(work, messages)
    else:
        print(f"run: {work.run.folder}")
    if progress.failed:
        raise typer.Exit(_SOME_FAILED)


def _print_json(work: "Work", messages: list[str]) -> None:
    from harness.cli import output

    kept = ("id", "variant", "case", "capture", "round", "status", "reason", "wall_s")
    cells = [{key: getattr(record, key) for key in kept} for _, record in work.run.records()]
    folder = str(work.run.folder)
    output.as_json({"run": folder, "engine": work.engine_name, "told": messages, "cells": cells})
