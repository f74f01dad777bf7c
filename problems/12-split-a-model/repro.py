"""Split a stack of decoder layers over GPUs in every way, and hold each against its prediction.

Run by ``harness run 12``; ``--dry-run`` prints the command and environment of each cell. The cell's
process is rank 0; it starts the others beside it (``team.py``).
"""

import os
import random
import sys
import tempfile
import traceback
from pathlib import Path

import study
import torch
from team import Team
from world import World

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    waiting: list[Team] = []
    with tempfile.TemporaryDirectory() as folder:
        meeting, seed = str(Path(folder) / "meeting"), random.SystemRandom().getrandbits(32)
        cell = Cell.load(lambda params: waiting.append(Team(params, meeting, seed)))
        team, ranks = waiting.pop(), cell.params["ranks"]
        if cell.device == "cuda" and torch.cuda.device_count() < ranks:
            team.end()
            raise SystemExit(f"fewer than {ranks} GPUs are shown: this case splits over as many")
        try:
            with cell.phase("start"):
                team.begin(cell.device)
                world = World(0, ranks, cell.device, meeting)
            study.run(cell, world, seed)
        except BaseException:
            traceback.print_exc()
            team.end()
            sys.stderr.flush()
            os._exit(1)  # a communicator's threads would wait for the other ranks
        world.close()
        cell.finish()
        team.join()


if __name__ == "__main__":
    main()
