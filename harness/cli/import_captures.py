"""``harness import``: captures made without the harness become evidence of a study."""

from pathlib import Path
from typing import Annotated

import typer


def import_captures(
    captures: Annotated[
        list[Path], typer.Argument(help="Captures of nsys, ncu, torch.profiler or memory.")
    ],
    place: Annotated[
        str, typer.Option("--as", metavar="PROBLEM/CASE/VARIANT", help="What they are captures of.")
    ],
    step: Annotated[
        str | None,
        typer.Option("--range", help="The NVTX range or annotation that marks a step."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run", metavar="FOLDER", help="Add them to this run, which was imported as well."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Make captures from elsewhere evidence of a study.

    They become cells of a new run. What a capture does not say stays unknown, and the page says so.
    """
    from harness.cli import output
    from harness.cli.account import near
    from harness.cli.resolve import problem_of
    from harness.contribute import importing
    from harness.ground import checkout
    from harness.ground.errors import UsageError
    from harness.store.run_folder import Run

    parts = place.split("/")
    if len(parts) != 3:
        remedy = "such as --as 1/stack-m1/bf16-eager"
        raise UsageError(f"--as {place!r} is not PROBLEM/CASE/VARIANT", remedy=remedy)
    problem = problem_of(parts[0])
    at = importing.place_of(problem, parts[1], parts[2])
    into = Run.open(run) if run else None
    if into:
        importing.check_open(into, problem)
    imported = importing.import_files(captures, at, checkout.runs(), into, step)
    if json:
        output.as_json({"run": str(imported.run.folder), "cells": list(imported.cells)})
        return
    for cell in imported.cells:
        output.say(f"imported: {cell}")
    folder = near(imported.run.folder)
    output.say(f"run: {imported.run.folder}")
    output.say("next:")
    output.say(
        f"  harness import FILE --as {parts[0]}/CASE/VARIANT --run {folder}  # what to compare"
    )
    output.say(f"  harness check {problem.number} --run {folder}")
    output.say(f"  harness report {problem.number} --run {folder}")
