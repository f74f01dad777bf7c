"""``harness calibrate``: measure what this GPU reaches at most."""

from pathlib import Path
from typing import Annotated

import typer


def calibrate(
    engine: Annotated[str, typer.Option(help="auto, local, docker or podman.")] = "auto",
    python: Annotated[Path | None, typer.Option(help="An interpreter that has torch.")] = None,
    wheels: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Install from this folder, offline."),
    ] = None,
    image: Annotated[str | None, typer.Option(help="Run in this image, and build none.")] = None,
    mount: Annotated[
        list[Path] | None, typer.Option(help="Show this host folder to containers, read only.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Measure this GPU's ceilings now and keep them for a day, beside the datasheet's peaks."""
    from harness import engines
    from harness.cli import output
    from harness.cli.progress import Progress
    from harness.errors import ToolError
    from harness.machine import target
    from harness.report.ceilings import table_of
    from harness.run import calibrate as calibration

    here = target.detect()
    if here.gpu is None:
        raise ToolError("no GPU here, so it has no ceilings", remedy="see harness doctor")
    options = engines.Options(python, wheels, image, tuple(mount or ()))
    quiet = (lambda _: None) if json else print
    made = calibration.ready(here, engine, options, quiet)
    with Progress(calibration.cells(here), quiet=json) as progress:
        found = calibration.measure(here, made, progress.told)
    if json:
        output.as_json(found.as_dict())
        return
    shown = table_of(here.gpu.name, {found.gpu: found.rates})
    output.table(shown.head, shown.rows)
    if shown.source:
        print(f"datasheet: {shown.source}")
    for doubt in found.doubts:
        print(f"noticed: {doubt}")
