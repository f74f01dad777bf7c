"""Reproduce the float8 weight-only slowdown: eight linears in a row, or a whole Llama decoder.

Run by ``harness run 1``; ``--dry-run`` prints the command and environment of each cell.
"""

import importlib
import os
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from decoding import decoder
from stack import stack
from variants import emulate, tune_coordinates

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load(imports)
    torch.manual_seed(0)
    if cell.capture == "timing" and cell.params["workload"] == "stack" and products_matter(cell):
        tune_anew()
    if cell.params.get("tune_coordinates"):
        tune_coordinates()
    for fix in cell.params.get("emulate", []):
        emulate(fix)
    with torch.inference_mode():
        (stack if cell.params["workload"] == "stack" else decoder)(cell)
    cell.finish()


def imports(params: dict[str, Any]) -> None:
    """Import what a cell of these params needs."""
    # Few kernels are compiled: a pool of workers would take longer to start than to compile them.
    torch._inductor.config.compile_threads = 1
    if params["compile"]:
        importlib.import_module("torch._inductor.compile_fx")
    if params["quantise"] != "none":
        importlib.import_module("torchao.quantization")


def products_matter(cell: Cell) -> bool:
    """Return whether a product is a part of the time; in 0.13.0 dequantising takes nearly all."""
    return cell.params["quantise"] != "float8wo" or metadata.version("torchao") != "0.13.0"


def tune_anew() -> None:
    """Let Inductor tune again where an earlier process has: its draw belongs to the interval.

    What Triton compiled is still found.
    """
    cache = "TORCHINDUCTOR_CACHE_DIR"
    if any(Path(os.environ[cache]).glob("*")):
        os.environ[cache] = tempfile.mkdtemp()


if __name__ == "__main__":
    main()
