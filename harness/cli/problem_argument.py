"""The argument that names a problem, with its completion; options for its run or its report."""

from pathlib import Path
from typing import Annotated

import typer


def names(incomplete: str) -> list[str]:
    """Return the names of the problems here that begin with what was typed, none on any error."""
    from harness import checkout
    from harness.errors import HarnessError
    from harness.problem import manifest

    try:
        here = [folder.name for folder in manifest.folders(checkout.problems())]
    except HarnessError:
        return []
    return [name for name in here if name.startswith(incomplete)]


Problem = Annotated[
    str, typer.Argument(help="Number, name or folder of the problem.", autocompletion=names)
]
MaybeProblem = Annotated[
    str | None,
    typer.Argument(
        help="Number, name or folder; the run's or report's if absent.", autocompletion=names
    ),
]
RunFolder = Annotated[
    Path | None,
    typer.Option("--run", metavar="FOLDER", help="A run folder; the newest if absent."),
]
ReportFolder = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FOLDER",
        help="A report's folder; the published one if there is no run.",
    ),
]
