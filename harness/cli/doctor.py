"""``harness doctor``: whether this machine can run and capture problems."""

from typing import Annotated

import typer

from harness.cli import engine_options


def doctor(
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE", help=f"Fail if this engine cannot work: {engine_options.NAMES}."
        ),
    ] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Say what this machine lacks, each with its remedy.

    GPU, profilers, counters, engines and disk are looked at.
    """
    from harness.cli import output
    from harness.engines import choose
    from harness.engines.doctor import checks
    from harness.engines.options import Options

    node = choose.node_of(engine, Options())
    lines = checks(node, engine)
    if json:
        target = node.target.as_dict()
        output.as_json({"checks": [line.as_dict() for line in lines], "target": target})
    else:
        words = {True: "ok", False: "NO", None: "–"}
        rows = [(words[line.ok], line.name, line.found, line.remedy) for line in lines]
        output.table(("", "what", "found", "remedy"), rows)
    if any(line.ok is False for line in lines):
        raise typer.Exit(1)
