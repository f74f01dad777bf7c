"""What the CUDA graphs of a set of batches take of the caching allocator: predicted, then read."""

import gc

import engines
import torch
from pool_size import MIB, predicted

from harness.probe.cell import Cell


def run(cell: Cell) -> None:
    """Predict the pool of each set of batches, capture it, and read what was reserved."""
    params = cell.params
    with cell.phase("load"):
        weights = engines.weights(params, cell.device)
    for batches in params["sets"]:
        region = "-".join(str(batch) for batch in batches)
        cell.fact(f"predicted_mib.{region}", predicted(weights.shape, max(batches)) / MIB, "MiB")
        torch._C._cuda_clearCublasWorkspaces()
        before = reserved()
        switches = engines.options({**params, "graph_batches": batches})
        with cell.phase(f"capture-{region}"):
            runner = engines.runner(weights, params, switches)
        cell.fact(f"pool_mib.{region}", (reserved() - before) / MIB, "MiB")
        del runner
        gc.collect()
        torch.cuda.empty_cache()


def reserved() -> int:
    """Return the bytes that the allocator holds in pools of CUDA graphs."""
    segments = torch.cuda.memory_snapshot()
    return sum(
        segment["total_size"] for segment in segments if tuple(segment["segment_pool_id"]) != (0, 0)
    )
