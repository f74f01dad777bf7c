"""Reproduce the ladder: decode steps of a tensor-parallel stack on two GPUs, and its all-reduces.

Run by ``harness run 7``; ``--dry-run`` prints the command and environment of each cell. The cell's
process is rank 0; it starts rank 1 beside it (``ranks.py``).
"""

import os
import tempfile
import traceback
from pathlib import Path
from typing import Any

import in_turn
import many
import torch
from checking import check
from pair import Pair
from ranks import RANKS, Second

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    waiting: list[Second | many.Others] = []

    def begin(params: dict[str, Any]) -> None:
        waiting.append((many.Others if "ranks" in params else Second)(params, meeting))

    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        meeting = str(Path(folder) / "meeting")
        cell = Cell.load(begin)
        ranks = cell.params.get("ranks", RANKS)
        if cell.device == "cuda" and torch.cuda.device_count() < ranks:
            raise SystemExit(f"fewer than {ranks} GPUs are shown: this case sums over as many")
        others = waiting.pop()
        if isinstance(others, many.Others):
            run_many(cell, others)
            return
        with cell.phase("start"):
            pair = Pair(others, cell.device)
        run(cell, pair)
        pair.end()
        cell.finish()
        pair.join()  # while its process ends, the next cell measures


def run_many(cell: Cell, others: many.Others) -> None:
    """Sum over any number of ranks; where one fails, the others end with this process."""
    try:
        many.run(cell, others)
    except BaseException:
        traceback.print_exc()
        others.end()
        os._exit(1)  # the communicator's threads would wait for the other ranks


def run(cell: Cell, pair: Pair) -> None:
    """Do what the cell's case asks for."""
    workload = cell.params["workload"]
    if workload == "sweep":
        in_turn.sweep(cell, pair)
    elif workload == "in-turn":
        in_turn.steps(cell, pair)
    else:
        decode(cell, pair)


def decode(cell: Cell, pair: Pair) -> None:
    """Measure the step of one variant; unprofiled, check it first."""
    with cell.phase("load"):
        pair.both("load")
    with cell.phase("begin"):
        pair.have_gpus_alone()
        pair.both("begin", "step", cell.params["exchange"], cell.params["graph"])
        pair.both("load_input", 0)
    if cell.capture == "timing":
        with cell.phase("check"):
            pair.have_gpus_alone()
            check(cell, pair, "step")
    cell.measure("step", lambda: pair.go("step", "step"))
    pair.both("meet")


if __name__ == "__main__":
    main()
