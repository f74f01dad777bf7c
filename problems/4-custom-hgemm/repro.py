"""Reproduce the ladder: every step of it, torch.mm and cuBLASLt's best; and their use in a model.

Run by ``harness run 4``; ``--dry-run`` prints the command and environment of each cell.

Times come from one process a round in which all contenders of a case run short batches
interleaved, and are ratios within a turn: at the power cap, which large products reach, separate
processes would run at different clocks. Counters and timelines do not compare times, so each step
has its own process there, and its captures can be compared with another step's.
"""

import importlib
from collections.abc import Callable
from typing import Any

import sanitize
import sanitize_scaled
import torch
from contest import alone, sizes, square
from portable import portable
from scaled_contest import scaled
from stack import stack

from harness.probe.cell import Cell

WORKLOADS: dict[str, Callable[[Any], None]] = {
    "square": lambda cell: (square if cell.params["contender"] == "all" else alone)(cell),
    "sizes": sizes,
    "scaled": scaled,
    "portable": portable,
    "stack": stack,
    "sanitize": sanitize.cell,
    "sanitize-scaled": sanitize_scaled.cell,
}


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load(imports)
    torch.manual_seed(0)
    workload = cell.params["workload"]
    with torch.inference_mode():
        WORKLOADS[workload](cell)
    cell.finish()


def imports(params: dict[str, Any]) -> None:
    """Import what a cell of these params needs."""
    if params.get("compile"):
        importlib.import_module("torch._inductor.compile_fx")


if __name__ == "__main__":
    main()
