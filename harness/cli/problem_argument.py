"""The argument that names a problem, and what a shell's completion offers for it."""

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
