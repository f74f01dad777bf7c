"""``harness doctor``: whether this machine can run and capture problems."""

from typing import Annotated

import typer


def doctor(
    engine: Annotated[
        str, typer.Option(help="Fail if this engine cannot work: auto, local, docker or podman.")
    ] = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Check this machine: GPU, profilers, counters, engines, disk; each with its remedy."""
    from harness import engines
    from harness.cli import output
    from harness.engines import doctor
    from harness.machine import doctor as checking
    from harness.machine import target

    engines.known(engine)
    here = target.detect()
    checks = [*checking.checks(here), *doctor.checks(here, engine)]
    if json:
        output.as_json({"checks": [check.as_dict() for check in checks], "target": here.as_dict()})
    else:
        words = {True: "ok", False: "NO", None: "–"}
        rows = [(words[check.ok], check.name, check.found, check.remedy) for check in checks]
        output.table(("", "what", "found", "remedy"), rows)
    if any(check.ok is False for check in checks):
        raise typer.Exit(1)
