"""``harness studies``: the studies in a folder, without a clone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer


@dataclass(frozen=True)
class Copied:
    """The folder of the studies."""

    folder: str


def studies(
    folder: Annotated[Path, typer.Argument(help="The folder to make, such as worklogs.")],
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Copy the installed studies into a folder to run them.

    They come with profiling-worklogs-studies, a package of the same version.
    """
    from harness.cli import output
    from harness.ground import studies as installed

    installed.copy(folder)
    if json:
        output.as_json(Copied(str(folder)))
        return
    output.say(f"written: {folder}")
    output.say("next:")
    for command, purpose in (
        (f"cd {folder}", "commands find the studies of the folder that they run in"),
        ("harness list", "the studies"),
        ("harness run 1 --worklog", "run one, judge its claims, write its worklog"),
    ):
        output.say(f"  {command}  # {purpose}")
