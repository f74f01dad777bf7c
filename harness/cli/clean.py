"""``harness clean``: remove containers that a harness left when it was killed."""

import shutil
from typing import Annotated

import typer


def clean(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Remove containers whose harness has ended.

    Those of a running harness stay. Exit code 1 if one is left or an engine does not answer.
    """
    from harness.cli import output
    from harness.engines.docker_cli import Client
    from harness.ground.errors import ToolError

    found: dict[str, list[str]] = {"removed": [], "still there": [], "cannot tell": []}
    for name in ("docker", "podman"):
        if shutil.which(name) is None:
            continue  # without the engine there is no container
        try:
            client = Client(name)
            strays = client.strays()
        except ToolError as error:
            found["cannot tell"].append(str(error))
            continue
        for stray in strays:
            why = client.end(stray)
            what = f"{name} {stray}"
            found["still there" if why else "removed"].append(f"{what}: {why}" if why else what)
    if json:
        output.as_json({what.replace(" ", "_"): lines for what, lines in found.items()})
    else:
        told = [f"{what}: {line}" for what, lines in found.items() for line in lines]
        for line in told or ["nothing to clean"]:
            output.say(line)
    if found["still there"] or found["cannot tell"]:
        raise typer.Exit(1)
