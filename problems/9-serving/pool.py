"""What the CUDA graphs of a set of batches take of the caching allocator: predicted, then read."""

import gc

import engines
import torch
from pool_size import MIB, predicted
from workloads.engine import kernels

from harness.probe.cell import Cell


def run(cell: Cell) -> None:
    """Predict the pool of each set of batches, capture it, and read what was reserved."""
    params = cell.params
    with cell.phase("load"):
        weights = engines.weights(params, cell.device)
    for batches in params["sets"]:
        region = "-".join(str(batch) for batch in batches)
        splits = {batch: kernels.splits_of(batch, weights.shape.kv_heads) for batch in batches}
        cell.fact(f"predicted_mib.{region}", predicted(weights.shape, splits) / MIB, "MiB")
        before = reserved()
        switches = engines.options({**params, "graph_batches": batches})
        with cell.phase(f"capture-{region}"):
            runner = engines.runner(weights, params, switches)
        cell.fact(f"pool_mib.{region}", (reserved() - before) / MIB, "MiB")
        del runner
        free()


def free() -> None:
    """Give back the pool of graphs that nobody holds any more.

    cuBLAS's workspace lies in it: until that is given back, too, its segment counts as reserved,
    and is given back within the next capture.
    """
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()


def reserved() -> int:
    """Return the bytes that the allocator holds in pools of CUDA graphs."""
    segments = torch.cuda.memory_snapshot()
    return sum(
        segment["total_size"] for segment in segments if tuple(segment["segment_pool_id"]) != (0, 0)
    )
