"""A plan as shell lines that can be pasted."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.engines.engine import Engine
from harness.ground.checkout import CHECKOUT
from harness.problem.plan import Cell
from harness.run.execute import locks
from harness.run.output import OUT


def pasteable(engine: Engine, cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the shell lines that run each cell."""
    folder = CHECKOUT / "runs" / "by-hand"
    for cell in cells:
        yield f"# {cell.id}"
        yield _line(engine, cell, folder / "cells" / cell.id / OUT, folder / "scratch")


def _line(engine: Engine, cell: Cell, out: Path, scratch: Path) -> str:
    command = engine.command(cell, out, scratch)
    temporary = [command.env["TMPDIR"]] if "TMPDIR" in command.env else []
    before = [
        ["mkdir", "-p", str(out), str(scratch / "locks"), *temporary],
        ["touch", *map(str, locks(scratch, engine.node.target))],
    ]
    if command.owner is not None:
        before.append(["chown", str(command.owner), str(out)])
    env = " ".join(f"{name}={shlex.quote(value)}" for name, value in command.env.items())
    run = f"(cd {shlex.quote(str(command.cwd))} && {env} {shlex.join(command.argv)})"
    after = [shlex.join(export.argv) for export in engine.afterwards(cell, out)]
    return " && ".join([*map(shlex.join, before), run, *after])
