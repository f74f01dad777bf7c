"""Expert parallelism: each rank has some experts, and attends to sequences of its own.

A row goes to the ranks of its experts and its results come back (Lepikhin et al., 2020,
arXiv:2006.16668). In training their gradients do so the other way, and those of all else are summed
over the ranks.
"""

import time
from itertools import pairwise

import torch
import torch.distributed as dist
from counted import tell
from law import Overlap, forward_bytes, training_bytes
from model import Experts, Stack, computed
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from training_ways import BACKWARD, own_sequences, replicated
from way import Comm, UnfitError, Way, by_rows
from work import Work, trained
from world import World

_BUCKET_MB = 25
_WAITS_OF = 6
"""Steps that the ranks' waits for one another are taken from."""


def experts(work: Work, world: World, mesh: DeviceMesh) -> Way:
    """Return expert parallelism beside data parallelism of everything else."""
    shape, ranks = work.shape, world.size
    if not shape.experts or shape.experts % ranks:
        raise UnfitError(f"{shape.experts} experts over {ranks} ranks")
    x = own_sequences(work, world)
    stack, comm = work.stack(), Comm(world, mesh)
    routed = _routed(stack, work, ranks)
    if work.kind == "decode":
        rows = slice(world.rank * len(x), (world.rank + 1) * len(x))
        work.fill_caches(stack, range(work.layers), rows, slice(None))
    for block, counts in zip(stack.blocks, routed, strict=True):
        block.feed = Spread(block.feed, comm, counts.chunk(ranks, 1)[world.rank])
    sizes, parts = work.sizes(ranks), [(stack, range(work.layers))]
    sent = forward_bytes("experts", sizes)
    if not work.trains:
        return Way(lambda: stack(x), by_rows(world), sent, parts=parts)
    apart = [name for name, weight in stack.named_parameters() if weight.dim() > 2]
    split, last = replicated(stack, comm, mesh, _BUCKET_MB, apart)
    law = training_bytes("experts", sizes)
    open_part = (2 * sent + last * (law - 2 * sent)) / law  # no work is beside an exchange of rows
    step = trained(split, x, work.input().numel())
    return Way(step, by_rows(world), law, Overlap(BACKWARD, open_part), parts=parts)


def _routed(stack: Stack, work: Work, ranks: int) -> list[Tensor]:
    """Return the rows of each rank to each expert, [ranks, experts], of the unsplit model's layers.

    So a muted way computes as many as a split one, and no link is asked.
    """
    with torch.no_grad():
        stack(work.input())
    return [
        torch.stack(
            [part.flatten().bincount(minlength=work.shape.experts) for part in chosen.chunk(ranks)]
        )
        for chosen in (block.feed.chosen for block in stack.blocks)
    ]


class Spread(nn.Module):
    """Experts of one rank. ``expected``: rows of each rank to each of them, [ranks, experts here].

    ``came``: rows that came in the last call; ``read_at``: when the host knew, in s.
    """

    def __init__(self, whole: Experts, comm: Comm, expected: Tensor) -> None:
        super().__init__()
        self._whole, self._comm, self._expected = whole, comm, expected
        trains = whole.down.requires_grad
        self.gate_up, self.down = (
            nn.Parameter(each.detach().chunk(comm.world.size)[comm.world.rank].clone(), trains)
            for each in (whole.gate_up, whole.down)
        )
        whole.gate_up = whole.down = None
        self.came, self.read_at = 0, 0.0

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's contribution to the residual stream, [..., width] as x."""
        whole, comm = self._whole, self._comm
        rows = x.flatten(0, -2)
        order, counts, weights = whole.routed(rows)
        wanted = counts.view(comm.world.size, -1)
        come = self._wanted_here(wanted)
        leave_rows, come_rows = wanted.sum(1).tolist(), come.sum(1).tolist()
        self.read_at = time.perf_counter()
        came = comm.uneven(rows[order // whole.top], leave_rows, come_rows)
        self.came = len(came)
        # From rank by expert to expert by rank: what an expert computes lies together.
        numbers = torch.arange(come.numel(), device=rows.device) % come.shape[1]
        by_expert = numbers.repeat_interleave(come.flatten()).argsort(stable=True)
        made = computed(came[by_expert], come.sum(0), self.gate_up, self.down)
        back = torch.empty_like(made).index_copy(0, by_expert, made)
        returned = comm.uneven(back, come_rows, leave_rows)
        return whole.combined(returned, order, weights).view_as(x)

    def _wanted_here(self, wanted: Tensor) -> Tensor:
        """Return the rows that come, [ranks, experts here]; ``wanted``: [ranks, experts there]."""
        tell("counts", wanted[1:].nbytes)
        if self._comm.is_muted:
            return self._expected
        come = torch.empty_like(wanted)
        dist.all_to_all_single(come, wanted)
        return come


def _spread(way: Way) -> list[Spread]:
    feeds = [block.feed for stack, _ in way.parts for block in stack.blocks]
    return [feed for feed in feeds if isinstance(feed, Spread)]


def imbalance(way: Way, world: World) -> float:
    """Return the most rows that a rank computed in a step over the mean, the worst layer's."""
    return max(world.most(each.came) / world.mean(each.came) for each in _spread(way))


def waits_ms(alone: Way, world: World) -> float:
    """Return the ms that ranks wait for one another in a step, where they meet in every layer.

    From the muted way: what the slowest rank takes between two readings of counts, summed, less
    what the slowest takes over all.
    """
    layers, read_at = _spread(alone), []
    world.meet()
    for _ in range(_WAITS_OF + 1):
        alone.step()
        read_at += [each.read_at for each in layers]
    taken = [after - before for before, after in pairwise(read_at[len(layers) - 1 :])]
    waits = sum(map(world.most, taken)) - world.most(sum(taken))
    return 1e3 * waits / _WAITS_OF
