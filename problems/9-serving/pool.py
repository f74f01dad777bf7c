"""What the CUDA graphs of a set of batch sizes take of the caching allocator: predicted, then read.

All graphs of a set share one pool. They are captured from the largest batch down, and what a
capture has freed the next one takes again, so the largest batch decides.
"""

import gc
from collections.abc import Sequence

import engines
import torch
from workloads.engine.model import Shape

from harness.probe.cell import Cell

MIB = 1 << 20
SMALL, SMALL_SEGMENT = MIB, 2 * MIB
LARGE_SEGMENT, OWN_SEGMENT = 20 * MIB, 10 * MIB
"""Of torch's caching allocator (c10/core/CachingDeviceAllocator.h and the CUDA one): blocks of at
most 1 MiB lie in segments of 2 MiB, those below 10 MiB in segments of 20 MiB, and larger ones in a
segment of their own, rounded up to 2 MiB."""
WORKSPACE = 32 * MIB
"""That torch gives cuBLAS for each stream on compute capability 9.0 (CUDABlas workspace, default
of Hopper); the capture's stream asks for it within the first capture."""
BYTES = 2
"""Of a bf16 number."""


def run(cell: Cell) -> None:
    """Predict the pool of each set of batches, capture it, and read what was reserved."""
    params = cell.params
    with cell.phase("load"):
        weights = engines.weights(params, cell.device)
    for batches in params["sets"]:
        region = "-".join(str(batch) for batch in batches)
        foreseen = predicted(weights.shape, max(batches))
        cell.fact(f"predicted_mib.{region}", foreseen / MIB, "MiB")
        torch._C._cuda_clearCublasWorkspaces()
        before = reserved()
        switches = engines.options({**params, "graph_batches": batches})
        with cell.phase(f"capture-{region}"):
            runner = engines.runner(weights, params, switches)
        taken = reserved() - before
        cell.fact(f"pool_mib.{region}", taken / MIB, "MiB")
        cell.fact(f"pool_error.{region}", 100 * abs(foreseen / taken - 1), "%")
        del runner
        gc.collect()
        torch.cuda.empty_cache()


def predicted(shape: Shape, batch: int) -> int:
    """Return the bytes of a pool whose largest batch is so large, of a dense model.

    Live at once are, at most: in a layer, the residual stream, what is added to it, its norm, and
    either queries, keys and values with attention's output, or gate and up with their product;
    behind the layers, the logits.
    """
    row = BYTES * batch
    stream = row * shape.width
    qkv = row * (shape.heads + 2 * shape.kv_heads) * shape.head
    attention = [stream, stream, stream, qkv, row * shape.heads * shape.head]
    feed = [stream, stream, stream, 2 * row * shape.hidden, row * shape.hidden]
    logits = [stream, stream, row * shape.vocabulary]
    parts = [_segments(blocks) for blocks in (attention, feed, logits)]
    return WORKSPACE + sum(max(part[kind] for part in parts) for kind in range(3))


def _segments(blocks: Sequence[int]) -> tuple[int, int, int]:
    """Return the bytes of segments that blocks take at once: small, shared large, and their own."""
    small = sum(block for block in blocks if block <= SMALL)
    large = sum(block for block in blocks if SMALL < block < OWN_SEGMENT)
    own = [block for block in blocks if block >= OWN_SEGMENT]
    return (
        _up(small, SMALL_SEGMENT),
        _up(large, LARGE_SEGMENT),
        sum(_up(block, SMALL_SEGMENT) for block in own),
    )


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def reserved() -> int:
    """Return the bytes that the allocator holds in pools of CUDA graphs."""
    segments = torch.cuda.memory_snapshot()
    return sum(
        segment["total_size"] for segment in segments if tuple(segment["segment_pool_id"]) != (0, 0)
    )
