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
        forget_the_check(cell.device)
    cell.measure("step", step)
    if cell.device == "cuda":
        cell.fact("peak_reserved", torch.cuda.max_memory_reserved(), "B")
    cell.finish()


def forget_the_check(device: str) -> None:
    """Give back the memory that the check took, so that captures see the step's alone."""
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


if __name__ == "__main__":
    main()
