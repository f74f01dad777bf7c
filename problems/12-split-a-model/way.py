"""What every way to split a model gives, and the communication of the ways written here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from counted import tell
from law import Overlap
from model import Stack
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from world import World

Gather = Callable[[Tensor], Tensor]


class UnfitError(Exception):
    """A way cannot split this model over so many ranks; the message says why."""


@dataclass
class Way:
    """A model that is split.

    ``step``: runs it once; returns this rank's output, or its loss. ``gathered``: makes the whole
    output of the ranks' own. ``law``: bytes that a rank sends, the mean over the ranks.
    ``parts``: the layers that this rank has, for their gradients.
    """

    step: Callable[[], Tensor]
    gathered: Gather
    law: float
    overlap: Overlap = field(default_factory=Overlap)
    idle: float = 0.0
    parts: list[tuple[Stack, range]] = field(default_factory=list)


class Comm:
    """Collectives of a way's own code; muted, each returns what the rank itself has."""

    def __init__(self, world: World, mesh: DeviceMesh) -> None:
        self.world, self.is_muted = world, mesh is world.muted

    def all_reduce(self, x: Tensor) -> Tensor:
        """Return the sum over the ranks, in place."""
        if not self.is_muted:
            dist.all_reduce(x)
        return x

    def all_to_all(self, x: Tensor) -> Tensor:
        """Return [ranks, ...] with the part that each rank had for this one."""
        x = x.contiguous()
        tell("all-to-all", x.nbytes * (len(x) - 1) / len(x))
        if self.is_muted:
            return x
        came = torch.empty_like(x)
        dist.all_to_all_single(came, x)
        return came

    def uneven(self, rows: Tensor, leave: list[int], come: list[int]) -> Tensor:
        """Return the rows that come, ``come[rank]`` of each rank; ``leave``: rows to each.

        Their gradients go the way back. Muted, as many rows come, but of the rank's own.
        """
        result: Tensor = _Uneven.apply(rows, self, leave, come)
        return result

    def exchange(self, rows: Tensor, leave: list[int], come: list[int]) -> Tensor:
        """Exchange rows as ``uneven`` does, without their gradients."""
        tell("uneven", (len(rows) - leave[self.world.rank]) * rows[:1].nbytes)
        total = sum(come)
        if self.is_muted:
            if total <= len(rows):
                return rows[:total]
            own = rows if len(rows) else rows.new_zeros(1, *rows.shape[1:])
            return own.repeat(-(-total // len(own)), 1)[:total]
        came = rows.new_empty(total, *rows.shape[1:])
        dist.all_to_all_single(came, rows.contiguous(), come, leave)
        return came

    def begin_passing(self, message: Tensor) -> Callable[[], Tensor]:
        """Send to the next rank; the result waits for what comes from the one before."""
        if self.is_muted:
            tell("send", message.nbytes)
            return lambda: message
        came, rank, size = torch.empty_like(message), self.world.rank, self.world.size
        pending = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, message, (rank + 1) % size),
                dist.P2POp(dist.irecv, came, (rank - 1) % size),
            ]
        )

        def wait() -> Tensor:
            for work in pending:
                work.wait()
            return came

        return wait


class _Uneven(torch.autograd.Function):
    """An exchange of rows whose backward pass exchanges their gradients."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, comm: Comm, leave: list[int], come: list[int]) -> Tensor:
        """Return the rows that come."""
        ctx.back = comm, come, leave
        return comm.exchange(rows, leave, come)

    @staticmethod
    def backward(ctx: Any, *came: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the rows that left."""
        comm, leave, come = ctx.back
        return comm.exchange(came[0], leave, come), None, None, None


def same(x: Tensor) -> Tensor:
    """Return the output of a way whose ranks all have the whole."""
    return x


def by_tokens(world: World) -> Gather:
    """Gather outputs, [batch, tokens / ranks, width], whose ranks hold tokens in order."""
    return lambda x: torch.cat(gathered(x, world), 1)


def by_rows(world: World) -> Gather:
    """Gather outputs whose ranks hold sequences in order."""
    return lambda x: torch.cat(gathered(x, world), 0)


def gathered(x: Tensor, world: World) -> list[Tensor]:
    """Return every rank's tensor of the same shape."""
    parts = [torch.empty_like(x) for _ in range(world.size)]
    dist.all_gather(parts, x.contiguous())
    return parts
