"""``harness schema``: the JSON schemas of manifests and of what commands print."""

from typing import Annotated

import typer


def schema(
    command: Annotated[
        str | None,
        typer.Argument(help="The command whose --json to describe; problem.yaml if absent."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Print the schemas of problem.yaml and every command.")
    ] = False,
) -> None:
    """Print a JSON schema: of problem.yaml, or of a command.

    A command's schema is of what it prints with --json, and lists its exit codes.
    """
    from harness.cli import output, outputs, renamed
    from harness.ground.errors import UsageError
    from harness.problem.model import Problem
    from harness.problem.names import nearest

    manifest = Problem.model_json_schema()
    if everything:
        schemas = {name: outputs.schema_of(name) for name in outputs.OUTPUTS}
        output.as_json({"problem.yaml": manifest, "commands": schemas})
    elif command is None:
        output.as_json(manifest)
    elif command in outputs.OUTPUTS:
        output.as_json(outputs.schema_of(command))
    else:
        renamed.refuse(command)
        remedy = nearest(command, list(outputs.OUTPUTS))
        raise UsageError(f"no command {command!r} that prints JSON", remedy=remedy)
