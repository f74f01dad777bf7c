"""The ladder: how the ranks' partial sums of a row-parallel product become the next layer's input.

An exchange is called with the product's operands, the residual and the norm's weight. It returns
the normed sum and leaves the sum in the residual.
"""

from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from driver import Kernel
from operations import NORM_THREADS, NORM_WIDTH, PARTS, Plain, norm_arguments
from peer import Arena, PeerReduce, epochs
from torch import Tensor

CHUNKS = 2
"""Pieces of a product whose sums overlap with the next piece."""
PACKED_BYTES = 512 << 10
"""Up to here twice the bytes cost less than a fence: one-shot and packed meet here in the sweep."""

Exchange = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""local [batch, inputs], weight [width, inputs], residual [batch, width], norm [width]."""


class Library:
    """One all-reduce of the whole product, as torch.distributed does it: NCCL, on a CPU gloo."""

    def __init__(self, operations: Plain) -> None:
        self._operations = operations

    def __call__(self, local: Tensor, weight: Tensor, residual: Tensor, norm: Tensor) -> Tensor:
        """Return the normed sum."""
        partial = F.linear(local, weight)
        dist.all_reduce(partial)
        return self._operations.add_norm(partial, residual, norm)


class Overlapped(Library):
    """The product in pieces: while a piece is summed, the next one is multiplied."""

    def __call__(self, local: Tensor, weight: Tensor, residual: Tensor, norm: Tensor) -> Tensor:
        """Return the normed sum."""
        partial = local.new_empty(CHUNKS, len(local), len(weight) // CHUNKS)
        sums = []
        for piece, rows in zip(partial, weight.chunk(CHUNKS), strict=True):
            torch.mm(local, rows.t(), out=piece)
            sums.append(dist.all_reduce(piece, async_op=True))
        for pending in sums:
            pending.wait()
        return self._operations.add_norm(partial, residual, norm)


class Alone(Library):
    """No sum: each rank goes on with its own part. The results are wrong; the time counts."""

    def __call__(self, local: Tensor, weight: Tensor, residual: Tensor, norm: Tensor) -> Tensor:
        """Return the normed residual with this rank's part alone."""
        return self._operations.add_norm(F.linear(local, weight), residual, norm)


class Peer(Library):
    """An all-reduce over peer memory, then residual and norm."""

    def __init__(self, operations: Plain, reduce: Callable[[Tensor], Tensor]) -> None:
        super().__init__(operations)
        self._reduce = reduce

    def __call__(self, local: Tensor, weight: Tensor, residual: Tensor, norm: Tensor) -> Tensor:
        """Return the normed sum."""
        total = self._reduce(F.linear(local, weight))
        return self._operations.add_norm(total, residual, norm)


class PeerFused:
    """All-reduce over peer memory, residual and norm in one kernel.

    Messages of more than ``PACKED_BYTES`` go as plain words behind flags, others as packed words.
    """

    def __init__(self, rows: int, arena: Arena) -> None:
        fenced = 2 * rows * NORM_WIDTH > PACKED_BYTES
        macros = ("FUSED", "FENCED") if fenced else ("FUSED",)
        self._kernel = Kernel("add_norm", "one_shot_all_reduce_add_norm", *macros)
        self._blocks = PARTS * rows
        self._inbox = arena.take(2 * self._blocks * NORM_THREADS * (8 if fenced else 16))
        self._flags = arena.take(4 * self._blocks)
        self._epochs = epochs(self._blocks)

    def __call__(self, local: Tensor, weight: Tensor, residual: Tensor, norm: Tensor) -> Tensor:
        """Return the normed sum."""
        return self.add_norm(F.linear(local, weight), residual, norm)

    def add_norm(self, partial: Tensor, residual: Tensor, norm: Tensor) -> Tensor:
        """Do as ``Plain.add_norm`` does, to the sum of both ranks' ``partial``."""
        out = torch.empty_like(residual)
        first = norm_arguments(partial, residual, norm, out)
        places = (self._inbox.theirs, self._inbox.mine, self._flags.theirs, self._flags.mine)
        self._kernel((self._blocks,), NORM_THREADS, (*first, *places, self._epochs))
        return out


LIBRARY_KINDS = {"nccl": Library, "overlap": Overlapped, "alone": Alone}


def made(
    kind: str, operations: Plain, rows: int, width: int, arena: Callable[[], Arena]
) -> Exchange:
    """Return the exchange of a name for messages of rows × width; ``arena()`` if it needs one."""
    if kind in LIBRARY_KINDS:
        return LIBRARY_KINDS[kind](operations)
    if kind == "fused":
        return PeerFused(rows, arena())
    return Peer(operations, PeerReduce(kind, 2 * rows * width, arena()))
