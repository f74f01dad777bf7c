"""``harness clean``: remove containers that a harness left when it was killed."""

from typing import Annotated

import typer


def clean(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Remove containers whose harness has ended; those of a running harness stay."""
    from harness.cli import output
    from harness.engines.docker_cli import Client
    from harness.errors import ToolError

    removed: list[str] = []
    left: list[str] = []
    for name in ("docker", "podman"):
        try:
            client = Client(name)
            strays = client.strays()
        except ToolError:
            continue  # this engine is not installed or does not answer: it has no containers
        for stray in strays:
            why = client.end(stray)
            if why:
                left.append(f"{name} {stray}: {why}")
            else:
                removed.append(f"{name} {stray}")
    if json:
        output.as_json({"removed": removed, "still_there": left})
    else:
        for line in removed:
            print(f"removed {line}")
        for line in left:
            print(f"still there: {line}")
        if not removed and not left:
            print("nothing to clean")
    if left:
        raise typer.Exit(1)
