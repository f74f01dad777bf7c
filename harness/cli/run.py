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
    rounds: Annotated[int, typer.Option(help="Times that each timing cell runs.")] = 1,
    engine: Annotated[str, typer.Option(help="auto, local, docker or podman.")] = "auto",
    python: Annotated[Path | None, typer.Option(help="An interpreter that has torch.")] = None,
    wheels: Annotated[Path | None, typer.Option(help="Install from this folder, offline.")] = None,
    build_arg: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE for the base image's build.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Run in this image, and build none.")] = None,
    mount: Annotated[
        list[Path] | None, typer.Option(help="Show this host folder to containers, read only.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Cells that set up side by side; one measures.")] = 1,
    resume: Annotated[Path | None, typer.Option(help="Go on with this run folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands only.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run a problem's cells, each in a process of its own; exit code 4 if some of them failed."""
    from harness import engines, manifest, store, target
    from harness import run as execution
    from harness.cli import output, places
    from harness.cli.progress import Progress
    from harness.plan import Selected, plan

    chosen = manifest.find(places.PROBLEMS, problem)
    here = target.detect()
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
    name, made = engines.ready(
        engine, chosen, here, options, environments, told.append if json else print
    )
    cells = plan(chosen, selected, here.device, caches=made.keeps_caches)
    arguments = {"rounds": rounds, "jobs": jobs, "engine": name, "cells": len(cells)}
    origin = execution.provenance(chosen, here, made, arguments)
    if resume:
        folder = store.Run.open(resume)
        execution.resume(folder, here, origin)
    else:
        folder = store.Run.create(places.RUNS, chosen.folder.name, origin)
    with Progress(len(cells), quiet=json) as progress:
        work = execution.Execution(chosen, here, made, folder, progress.told, jobs)
        work.execute(cells)
    if json:
        kept = ("id", "variant", "case", "capture", "round", "status", "reason", "wall_s")
        cells_told = [{key: record[key] for key in kept} for _, record in folder.records()]
        output.as_json({"run": str(folder.folder), "engine": told[-1], "cells": cells_told})
    else:
        print(f"run: {folder.folder}")
    if progress.failed:
        raise typer.Exit(_SOME_FAILED)
