"""The size of the pool that CUDA graphs of a set of batches share, from the model's shape.

They are captured from the largest batch down, and what a capture has freed the next one takes
again, so the largest batch decides.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workloads.engine.model import Shape

MIB = 1 << 20
SMALL, SMALL_SEGMENT = MIB, 2 * MIB
LARGE_SEGMENT, OWN_SEGMENT = 20 * MIB, 10 * MIB
"""Of torch's caching allocator (CUDACachingAllocator.cpp): blocks of at most 1 MiB lie in segments
of 2 MiB, those below 10 MiB in segments of 20 MiB, and larger ones in a segment of their own,
rounded up to 2 MiB."""
WORKSPACE = 32 * MIB
"""That torch gives cuBLAS for each stream on compute capability 9.0 (CublasHandlePool.cpp); the
capture's stream asks for it within the first capture."""
BYTES = 2
"""Of a bf16 number."""


def predicted(shape: "Shape", batch: int) -> int:
    """Return the bytes of a pool whose largest batch is so large, of a dense model.

    Live at once are, at most: in a layer, the residual stream, what is added to it, its norm, and
    either queries, keys and values with attention's output, or gate and up with their product;
    behind the layers, the stream, its norm and the logits.
    """
    row = BYTES * batch
    stream = row * shape.width
    qkv = row * (shape.heads + 2 * shape.kv_heads) * shape.head
    return WORKSPACE + reserved(
        [
            [stream, stream, stream, qkv, row * shape.heads * shape.head],
            [stream, stream, stream, 2 * row * shape.hidden, row * shape.hidden],
            [stream, stream, row * shape.vocabulary],
        ]
    )


def reserved(stages: Sequence[Sequence[int]]) -> int:
    """Return the bytes of segments after stages whose blocks are live together, one after another.

    A block with a segment of its own takes an earlier one that is free and large enough.
    """
    small = max(_up(sum(b for b in blocks if b <= SMALL), SMALL_SEGMENT) for blocks in stages)
    large = max(
        _up(sum(b for b in blocks if SMALL < b < OWN_SEGMENT), LARGE_SEGMENT) for blocks in stages
    )
    own: list[int] = []
    for blocks in stages:
        free = sorted(own)
        for block in sorted((b for b in blocks if b >= OWN_SEGMENT), reverse=True):
            if free and free[-1] >= block:
                free.pop()
            else:
                own.append(_up(block, SMALL_SEGMENT))
    return small + large + sum(own)


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit
