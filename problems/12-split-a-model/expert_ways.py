"""Expert parallelism: each rank has some experts, and attends to sequences of its own.

A row goes to the ranks of its experts and its results come back (Lepikhin et al., 2020,
arXiv:2006.16668).
"""

import torch
import torch.distributed as dist
from law import forward_bytes
from model import Experts, computed
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from way import Comm, UnfitError, Way, by_rows
from work import Work
from world import World


def experts(work: Work, world: World, mesh: DeviceMesh) -> Way:
    """Return expert parallelism beside data parallelism of everything else."""
    shape = work.shape
    if not shape.experts or shape.experts % world.size or work.batch % world.size:
        raise UnfitError(f"{shape.experts} experts, batch {work.batch} over {world.size} ranks")
    stack, comm = work.stack(), Comm(world, mesh)
    count = work.batch // world.size
    rows = slice(world.rank * count, (world.rank + 1) * count)
    if work.kind == "decode":
        work.fill_caches(stack, range(work.layers), rows, slice(None))
    for block in stack.blocks:
        block.feed = Spread(block.feed, comm)
    x = work.input()[rows].contiguous()
    law = forward_bytes("experts", work.sizes(world.size))
    return Way(lambda: stack(x), by_rows(world), law, parts=[(stack, range(work.layers))])


class Spread(nn.Module):
    """Experts of one rank. ``came``: rows that came in the last call."""

    def __init__(self, whole: Experts, comm: Comm) -> None:
        super().__init__()
        self._whole, self._comm = whole, comm
        rank, ranks = comm.world.rank, comm.world.size
        self._gate_up = whole.gate_up.chunk(ranks)[rank].clone()
        self._down = whole.down.chunk(ranks)[rank].clone()
        whole.gate_up = whole.down = None
        self.came = 0

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's contribution to the residual stream, [..., width] as x."""
        whole, comm, ranks = self._whole, self._comm, self._comm.world.size
        rows = x.flatten(0, -2)
        order, counts, weights = whole.routed(rows)
        wanted = counts.view(ranks, -1)
        come = self._wanted_here(wanted)
        leave_rows, come_rows = wanted.sum(1).tolist(), come.sum(1).tolist()
        came = comm.uneven(rows[order // whole.top], leave_rows, come_rows)
        self.came = len(came)
        # From rank by expert to expert by rank: what an expert computes lies together.
        numbers = torch.arange(come.numel(), device=rows.device) % come.shape[1]
        by_expert = numbers.repeat_interleave(come.flatten()).argsort(stable=True)
        made = computed(came[by_expert], come.sum(0), self._gate_up, self._down)
        back = torch.empty_like(made).index_copy(0, by_expert, made)
        returned = comm.uneven(back, come_rows, leave_rows)
        return whole.combined(returned, order, weights).view_as(x)

    def _wanted_here(self, wanted: Tensor) -> Tensor:
        """Return the rows that come, [ranks, experts here]; ``wanted``: [ranks, experts there].

        Muted, as many stay as there are, spread over this rank's experts as over all.
        """
        if self._comm.is_muted:
            return wanted
        come = torch.empty_like(wanted)
        dist.all_to_all_single(come, wanted)
        return come


def imbalance(way: Way, world: World) -> float:
    """Return the most rows that a rank computed in a step over the mean, the worst layer's."""
    stack = way.parts[0][0] if way.parts else None
    spread = [block.feed for block in stack.blocks] if stack else []
    over = [world.most(each.came) / world.mean(each.came) for each in spread]
    return max(over, default=1.0)
