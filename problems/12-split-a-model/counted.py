"""Which collectives a step makes, and of how many bytes: read off the calls as torch makes them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

Op = tuple[str, float]
"""Kind and size in bytes, as ``law.sent`` counts a size."""

_KINDS = {
    "allreduce_": "all-reduce",
    "all_reduce": "all-reduce",
    "all_reduce_": "all-reduce",
    "one_shot_all_reduce": "one-shot",
    "two_shot_all_reduce_": "all-reduce",
    "_allgather_base_": "all-gather",
    "all_gather_into_tensor": "all-gather",
    "all_gather_into_tensor_out": "all-gather",
    "fused_all_gather_matmul": "all-gather",
    "_reduce_scatter_base_": "reduce-scatter",
    "reduce_scatter_tensor": "reduce-scatter",
    "fused_matmul_reduce_scatter": "reduce-scatter",
    "send": "send",
}
_NAMESPACES = ("c10d", "_c10d_functional", "symm_mem")


class Counted(TorchDispatchMode):
    """Keeps the collectives of what runs inside, in order, in ``ops``."""

    def __init__(self, ranks: int) -> None:
        super().__init__()
        self.ranks = ranks
        self.ops: list[Op] = []

    def add(self, kind: str, size: float) -> None:
        """Keep a collective that torch does not dispatch, or whose size only its caller knows."""
        self.ops.append((kind, size))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        """Run an operator; keep it if it is a collective."""
        if any(issubclass(each, DTensor) for each in types):
            return NotImplemented
        result = func(*args, **(kwargs or {}))
        space, _, name = func._schema.name.partition("::")
        if space in _NAMESPACES and name in _KINDS:
            self.ops.append((_KINDS[name], self._size(name, args, result)))
        return result

    def _size(self, name: str, args: Any, result: Any) -> float:
        if name == "fused_all_gather_matmul":
            return self.ranks * nbytes(args[0])
        if name == "fused_matmul_reduce_scatter":
            return float(self.ranks * nbytes(result))
        if name == "_allgather_base_" or name == "_reduce_scatter_base_":
            return max(nbytes(args[0]), nbytes(args[1]))
        if name.startswith("all_gather_into_tensor"):
            return self.ranks * nbytes(args[0])
        return nbytes(args[0])


def nbytes(of: Any) -> float:
    """Return the bytes of a tensor, or of all tensors of a list."""
    return float(of.nbytes) if isinstance(of, Tensor) else float(sum(map(nbytes, of)))


_current: list[Counted] = []


@contextmanager
def counting(ranks: int) -> Iterator[Counted]:
    """Count what runs inside."""
    mode = Counted(ranks)
    _current.append(mode)
    try:
        with mode:
            yield mode
    finally:
        _current.remove(mode)


def tell(kind: str, size: float) -> None:
    """Keep a collective of a way's own code, if somebody counts."""
    for mode in _current:
        mode.add(kind, size)


def ops_of(step: Callable[[], object], ranks: int) -> list[Op]:
    """Return the collectives of a step."""
    with counting(ranks) as mode:
        step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return mode.ops
