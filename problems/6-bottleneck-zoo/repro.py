"""Run one specimen of the zoo, sick or healthy: check its result, then hand its step over.

Run by ``harness run 6``; ``--dry-run`` prints the command and environment of each cell.
"""

import torch
from specimen import load

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load()
    specimen = load(cell.params["specimen"])
    with cell.phase("load"):
        inputs = specimen.inputs_on(cell.device, small=cell.params.get("small", False))
    with cell.phase("first"):
        step = specimen.begin(cell.params["twin"], inputs)
        cell.fact("error", specimen.checked(step(), inputs))
    cell.measure("step", step)
    if cell.device == "cuda":
        cell.fact("peak_reserved", torch.cuda.max_memory_reserved(), "B")
    cell.finish()


if __name__ == "__main__":
    main()
