"""``harness join``: make one run of several."""

from pathlib import Path
from typing import Annotated

import typer


def join(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, two or more.")],
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Join runs of one problem by several GPUs of one model.

    Of a cell that several runs finished, the first run's counts.
    """
    from harness.cli import output
    from harness.ground import checkout
    from harness.ground.errors import UsageError
    from harness.store import merge
    from harness.store.run_folder import Run

    if len(runs) < 2:
        raise UsageError("one run alone is joined already", remedy="give two run folders or more")
    target = checkout.runs()
    joined = merge.join([Run.open(folder) for folder in runs], target)
    cells = sum(1 for _ in joined.records())
    if json:
        output.as_json({"run": str(joined.folder), "cells": cells})
    else:
        output.say(f"run: {joined.folder}, {cells} cells")
