"""The argument that names a problem, and the options for its run or its report."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion

Problem = Annotated[
    str,
    typer.Argument(
        help="Number, name or folder of the problem.", autocompletion=completion.problems
    ),
]
MaybeProblem = Annotated[
    str | None,
    typer.Argument(
        help="Number, name or folder; the run's or report's if absent.",
        autocompletion=completion.problems,
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
