"""The cross entropy's kernel that reads its logits once.

A row in bf16 has to fit half of a multiprocessor's shared memory: 56 000 elements or so.
"""

from functools import cache

from any_shape import ELEMENT_BYTES, MAX_SHARED
from cuda_kernel import CudaKernel, plain_step
from torch import Tensor

_BLOCKS_PER_SM, _VECTOR = 2, 8
_THREADS = 512
_STATIC_BYTES = 1024
"""Of shared memory: barriers and the warps' sums, and what the system keeps of each block."""


def to_gradient(logits: Tensor, targets: Tensor, losses: Tensor, scale: float) -> None:
    """Turn logits [n, columns] into ``scale`` times their loss's gradient; write the losses [n].

    Raises ``ValueError`` for rows that the kernel does not take.
    """
    rows, columns = logits.shape
    room = MAX_SHARED // _BLOCKS_PER_SM - _STATIC_BYTES
    if ELEMENT_BYTES * columns > room or columns % _VECTOR or not logits.is_contiguous():
        raise ValueError(f"cross_entropy.cu: no contiguous rows of {columns} elements")
    kernel(columns)(rows, logits, targets, losses, scale, columns)


@cache
def kernel(columns: int) -> CudaKernel:
    """Return the kernel for rows of so many elements."""
    return CudaKernel(plain_step("cross_entropy", _THREADS, ELEMENT_BYTES * columns))
