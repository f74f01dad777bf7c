"""The size of the pool that CUDA graphs of a set of batches share, from the model's shape.

They are captured from the largest batch down, and what a capture has freed the next one takes
again: so of each kind of segment, the batch decides that needs most of it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workloads.engine.model import Shape

MIB = 1 << 20
SMALL, SMALL_SEGMENT = MIB, 2 * MIB
LARGE_SEGMENT, OWN_SEGMENT = 20 * MIB, 10 * MIB
"""Of torch's caching allocator (CUDACachingAllocator.cpp): blocks of at most 1 MiB lie in segments
of 2 MiB, those below 10 MiB in segments of 20 MiB, and larger ones in a segment of their own,
rounded up to 2 MiB."""
TINY = 64 << 10
"""Slots, tokens and sums: a few dozen blocks of 512 bytes and more."""
WORKSPACE = 32 * MIB
"""That torch gives cuBLAS for each stream on compute capability 9.0 (CublasHandlePool.cpp); the
capture's stream asks for it within the first capture."""
BYTES = 2
"""Of a bf16 number; attention's parts have twice as many."""


def predicted(shape: "Shape", splits: Mapping[int, int]) -> int:
    """Return the bytes of a pool of decode steps of a dense model, not fused.

    ``splits``: by batch, into how many parts attention's keys are split.
    """
    stages = []
    for batch in sorted(splits, reverse=True):
        stages += _stages(shape, batch, splits[batch])
    return WORKSPACE + reserved(stages)


def _stages(shape: "Shape", batch: int, splits: int) -> list[list[int]]:
    """Return the bytes of blocks that live together, in the order of ``Model.logits``.

    The residual stream, what is added to it, and queries, keys and values live until the next ones
    are there. Beside them: the norm and the next queries; attention with its parts; its product;
    the norm, gate and up, and their product; the norm and the logits.
    """
    row = BYTES * batch
    stream = row * shape.width
    qkv = row * (shape.heads + 2 * shape.kv_heads) * shape.head
    heads = row * shape.heads * shape.head
    live = [TINY, stream, stream, qkv]
    return [
        [*live, stream, qkv],
        [*live, heads, *[2 * splits * heads] * (splits > 1)],
        [*live, heads, stream],
        [*live, stream, 2 * row * shape.hidden, row * shape.hidden],
        [*live, stream, row * shape.vocabulary],
    ]


def reserved(stages: Sequence[Sequence[int]]) -> int:
    """Return the bytes of segments after stages whose blocks are live together, one after another.

    A block of 10 MiB or more takes the smallest segment that is free as a whole and large enough,
    one of 20 MiB included.
    """
    small = max(_up(sum(b for b in blocks if b <= SMALL), SMALL_SEGMENT) for blocks in stages)
    large = 0
    own: list[int] = []
    for blocks in stages:
        used = _up(sum(b for b in blocks if SMALL < b < OWN_SEGMENT), LARGE_SEGMENT)
        large = max(large, used)
        free = sorted([*own, *[LARGE_SEGMENT] * ((large - used) // LARGE_SEGMENT)])
        for block in sorted((b for b in blocks if b >= OWN_SEGMENT), reverse=True):
            fitting = next((segment for segment in free if segment >= block), None)
            if fitting is None:
                own.append(_up(block, SMALL_SEGMENT))
            else:
                free.remove(fitting)
    return small + large + sum(own)


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit
