"""``harness clean``: remove containers that a harness left when it was killed."""

from typing import Annotated

import typer


def clean(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Remove containers whose harness has ended; those of a running one stay."""
    from harness.cli import output
    from harness.engines.docker_cli import Client
    from harness.errors import ToolError

    removed: list[str] = []
    still: list[str] = []
    for name in ("docker", "podman"):
        try:
            client = Client(name)
            strays = client.strays()
        except ToolError:
            continue  # no such engine here, so nothing of it either
        for stray in strays:
            why = client.end(stray)
            (still if why else removed).append(f"{name} {stray}" + (f": {why}" if why else ""))
    if json:
        output.as_json({"removed": removed, "still_there": still})
    else:
        for line in removed:
            print(f"removed {line}")
        for line in still:
            print(f"still there: {line}")
        if not removed and not still:
            print("nothing to clean")
    if still:
        raise typer.Exit(1)
