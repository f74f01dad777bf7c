"""``harness run``: execute a problem's cells on this machine."""

from pathlib import Path
from typing import Annotated

import typer

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
    engine: Annotated[str, typer.Option(help="auto, local, docker or podman.")] = "auto",
    python: Annotated[Path | None, typer.Option(help="An interpreter that has torch.")] = None,
    wheels: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Install from this folder, offline."),
    ] = None,
    build_arg: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE for the base image's build.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Run in this image, and build none.")] = None,
    mount: Annotated[
        list[Path] | None, typer.Option(help="Show this host folder to containers, read only.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Cells that set up side by side; one measures.")] = 1,
    lock_clocks: Annotated[
        int | None, typer.Option(help="Hold the SM clock at so many MHz; undone at the end.", min=1)
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with this run folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands only.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run a problem's cells, each in a process of its own; exit code 4 if some of them failed."""
    from harness import engines
    from harness.cli import output, paths
    from harness.cli.progress import Progress
    from harness.errors import UsageError
    from harness.evidence.provenance import Origin
    from harness.machine import target
    from harness.problem import manifest
    from harness.problem.plan import Selected, plan
    from harness.run import calibrate
    from harness.run import execute as execution
    from harness.store import run_folder

    chosen = manifest.find(paths.PROBLEMS, problem)
    here = target.detect()
    if lock_clocks is not None and here.gpu is None:
        raise UsageError("--lock-clocks needs a GPU", remedy="leave it out on a CPU")
    selected = Selected(tuple(variant or ()), tuple(case or ()), tuple(capture or ()), rounds)
    cells = plan(chosen, selected, here.device)
    environments = sorted({cell.environment for cell in cells})
    options = engines.Options(python, wheels, image, tuple(mount or ()), tuple(build_arg or ()))
    if dry_run:
        would, _ = engines.choose(engine, here)[0]
        made = engines.make(would, chosen, here, options)
        for line in execution.pasteable(made, here, cells, environments):
            print(line)
        return
    told: list[str] = []
    say = told.append if json else print
    name, made = engines.ready(engine, chosen, here, options, environments, say)
    cells = plan(chosen, selected, here.device, caches=made.keeps_caches)
    arguments = {"rounds": rounds, "jobs": jobs, "engine": name, "cells": len(cells)}
    arguments["lock_clocks_mhz"] = lock_clocks
    origin = execution.provenance(chosen, here, made, arguments)
    if lock_clocks is None:
        ceilings = calibrate.at_hand(here, name, options, say)
        origin = Origin.model_validate(dict(origin) | {"ceilings": ceilings})
    elif here.gpu:
        say("no ceilings: they are measured at other clocks than those held now")
    if resume:
        folder = run_folder.Run.open(resume)
        execution.resume(folder, origin)
    else:
        folder = run_folder.Run.create(paths.RUNS, chosen.folder.name, origin)
    with Progress(len(cells), quiet=json) as progress:
        work = execution.Execution(chosen, here, made, folder, progress.told, jobs, lock_clocks)
        work.execute(cells)
    if json:
        kept = ("id", "variant", "case", "capture", "round", "status", "reason", "wall_s")
        cells_told = [{key: getattr(record, key) for key in kept} for _, record in folder.records()]
        output.as_json(
            {"run": str(folder.folder), "engine": name, "told": told, "cells": cells_told}
        )
    else:
        print(f"run: {folder.folder}")
    if progress.failed:
        raise typer.Exit(_SOME_FAILED)
