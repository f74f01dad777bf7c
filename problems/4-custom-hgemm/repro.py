"""Reproduce the ladder: every step of it, torch.mm and cuBLASLt's best; and their use in a model.

Run by ``harness run 4``; ``--dry-run`` prints the command and environment of each cell.

Times come from one process a round in which all contenders of a case run short batches
interleaved, and are ratios within a turn: at the power cap, which large products reach, separate
processes would run at different clocks. Counters and timelines do not compare times, so each step
has its own process there, and its captures can be compared with another step's.
"""

import importlib
from typing import Any

import sanitize
import torch
from contest import alone, sizes, square
from stack import stack

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load(imports)
    torch.manual_seed(0)
    if cell.device == "cuda" and torch.cuda.get_device_capability() != (9, 0):
        raise SystemExit("the kernels are built for sm_90a: this needs a Hopper GPU (H100, H200)")
    workload = cell.params["workload"]
    with torch.inference_mode():
        if workload == "stack":
            stack(cell)
        elif workload == "sizes":
            sizes(cell)
        elif workload == "sanitize":
            sanitize.cell(cell)
        elif cell.params["contender"] == "all":
            square(cell)
        else:
            alone(cell)
    cell.finish()


def imports(params: dict[str, Any]) -> None:
    """Import what a cell of these params needs."""
    if params.get("compile"):
        importlib.import_module("torch._inductor.compile_fx")


if __name__ == "__main__":
    main()
