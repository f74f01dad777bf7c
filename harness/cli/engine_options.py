"""The options of commands that build an engine, and those that say how much it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.engines import ENGINES

if TYPE_CHECKING:
    from harness.engines.options import Options

NAMES = ", ".join(["auto", *ENGINES][:-1]) + f" or {list(ENGINES)[-1]}"
"""The names that ``--engine`` takes, for a help text."""

Engine = Annotated[
    str, typer.Option(metavar="ENGINE", help=f"{NAMES}.", autocompletion=completion.engines)
]
Python = Annotated[Path | None, typer.Option(metavar="FILE", help="An interpreter that has torch.")]
Wheels = Annotated[
    Path | None,
    typer.Option(exists=True, file_okay=False, help="Install from this folder, offline."),
]
BuildArguments = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="An argument of the base image's build."),
]
Image = Annotated[
    str | None, typer.Option(metavar="IMAGE", help="Run in this image, and build none.")
]
Mounts = Annotated[
    list[Path] | None,
    typer.Option(metavar="FOLDER", help="Show this host folder to containers, read only."),
]
Rounds = Annotated[
    int | None, typer.Option(help="Times that each timing cell runs, if not the problem's.")
]
Full = Annotated[
    bool, typer.Option("--full", help="Every cell, not only what headline claims need.")
]


def options(
    python: Path | None,
    wheels: Path | None,
    image: str | None,
    mount: list[Path] | None,
    build_arg: list[str] | None = None,
) -> "Options":
    """Return the options as an engine takes them; UsageError if a build argument has no value."""
    from harness.engines.options import Options

    return Options(python, wheels, image, tuple(mount or ()), tuple(build_arg or ()))
