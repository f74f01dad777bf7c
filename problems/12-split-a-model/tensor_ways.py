"""Tensor parallelism, plain, with sequence parallelism, over symmetric memory, and overlapped.

Columns, then rows, of every pair of products (Shoeybi et al., 2019, arXiv:1909.08053, section 3).
"""

from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from counted import tell
from law import Overlap, forward_bytes
from model import Block, Experts, Stack, computed
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from way import Comm, UnfitError, Way, by_tokens, same
from work import Work, trained
from world import World

COLUMNS = ("attention.q", "attention.k", "attention.v", "feed.gate", "feed.up")
ROWS = ("attention.o", "feed.down")


def tensor(work: Work, world: World, mesh: DeviceMesh) -> Way:
    """Return tensor parallelism by ``parallelize_module``: two all-reduces a layer."""
    stack = _with_heads(work, world)
    plan = dict.fromkeys(COLUMNS, ColwiseParallel()) | dict.fromkeys(ROWS, RowwiseParallel())
    for block in stack.blocks:
        _split(block, mesh, plan, Comm(world, mesh))
    return _made(work, world, _compact(stack), work.input(), same)


def sequence(work: Work, world: World, mesh: DeviceMesh) -> Way:
    """Return tensor parallelism whose norms and residuals are split by tokens."""
    stack = _with_heads(work, world)
    gathered = {"input_layouts": (Shard(1),), "desired_input_layouts": (Replicate(),)}
    rows = RowwiseParallel(output_layouts=Shard(1))
    plan = dict.fromkeys(COLUMNS, ColwiseParallel()) | dict.fromkeys(ROWS, rows)
    plan |= dict.fromkeys(("attention_norm", "feed_norm"), SequenceParallel())
    plan |= dict.fromkeys(("attention", "feed"), PrepareModuleInput(**gathered))
    for block in stack.blocks:
        parallelize_module(block, mesh, plan, src_data_rank=None)
    last = {"norm": SequenceParallel(use_local_output=True)}
    parallelize_module(stack, mesh, last, src_data_rank=None)
    x = work.input().chunk(world.size, 1)[world.rank].contiguous()
    return _made(work, world, _compact(stack), x, by_tokens(world))


def symmetric(work: Work, world: World, mesh: DeviceMesh) -> Way:
    """Return tensor parallelism whose sums are one-shot all-reduces of torch's symmetric memory."""
    if world.device != "cuda":
        raise UnfitError("symmetric memory needs GPUs")
    stack = _sharded(_with_heads(work, world), world)
    comm = Comm(world, mesh)
    for block in stack.blocks:
        block.attention.o = _SymmetricRow(block.attention.o, work, comm)
        block.feed.down = _SymmetricRow(block.feed.down, work, comm)
    return _made(work, world, stack, work.input(), same)


def overlapped(work: Work, world: World, mesh: DeviceMesh) -> Way:
    """Return sequence parallelism whose products run while their rows come or leave (async TP)."""
    stack = _sharded(_with_heads(work, world), world)
    comm = Comm(world, mesh)
    for block in stack.blocks:
        _overlap(block, comm)
    x = work.input().chunk(world.size, 1)[world.rank].contiguous()
    way = _made(work, world, stack, x, by_tokens(world))
    way.overlap = Overlap(beside=1.0, ends=1 / (4 * work.layers), by_kernels=False)
    return way


def _with_heads(work: Work, world: World) -> Stack:
    """Return the model; of a cache, this rank's heads."""
    if work.shape.kv_heads % world.size:
        raise UnfitError(f"{work.shape.kv_heads} key heads over {world.size} ranks")
    stack = work.stack()
    if work.kind == "decode":
        count = work.shape.kv_heads // world.size
        heads = slice(world.rank * count, (world.rank + 1) * count)
        work.fill_caches(stack, range(work.layers), slice(None), heads)
    return stack


def _made(
    work: Work, world: World, stack: Stack, x: Tensor, gathered: Callable[[Tensor], Tensor]
) -> Way:
    law = forward_bytes("tensor", work.sizes(world.size)) * (2 if work.trains else 1)
    step = trained(stack, x, work.input().numel()) if work.trains else lambda: stack(x)
    return Way(step, gathered, law, parts=[(stack, range(work.layers))])


def _compact(stack: Stack) -> Stack:
    """Give each part of a weight memory of its own: as a view it would keep the whole one."""
    for weight in stack.parameters():
        if isinstance(weight, DTensor):
            weight._local_tensor = weight._local_tensor.detach().clone()
    return stack


def _split(block: Block, mesh: DeviceMesh, plan: dict[str, object], comm: Comm) -> None:
    if isinstance(block.feed, Experts):
        plan = {name: style for name, style in plan.items() if name.startswith("attention")}
        block.feed = _SplitExperts(block.feed, comm)
    parallelize_module(block, mesh, plan, src_data_rank=None)


class _SplitExperts(nn.Module):
    """Some of every expert's hidden elements; the ranks' results are summed."""

    def __init__(self, whole: Experts, comm: Comm) -> None:
        super().__init__()
        self._whole, self._comm = whole, comm
        rank, ranks = comm.world.rank, comm.world.size
        halves = [half.chunk(ranks, -1)[rank] for half in whole.gate_up.chunk(2, -1)]
        self._gate_up = torch.cat(halves, -1)
        self._down = whole.down.chunk(ranks, 1)[rank].contiguous()
        whole.gate_up = whole.down = None

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's contribution to the residual stream, [..., width] as x."""
        rows = x.flatten(0, -2)
        order, counts, weights = self._whole.routed(rows)
        made = computed(rows[order // self._whole.top], counts, self._gate_up, self._down)
        total = self._comm.all_reduce(self._whole.combined(made, order, weights))
        return total.view_as(x)


def _sharded(stack: Stack, world: World) -> Stack:
    """Keep this rank's part of each product's weight, as a plain tensor."""
    if any(isinstance(block.feed, Experts) for block in stack.blocks):
        raise UnfitError("written for one feed-forward a layer")
    for block in stack.blocks:
        for names, dimension in ((COLUMNS, 0), (ROWS, 1)):
            for name in names:
                linear = block.get_submodule(name)
                own = linear.weight.data.chunk(world.size, dimension)[world.rank]
                linear.weight = nn.Parameter(own.clone(), requires_grad=False)
    return stack


class _SymmetricRow(nn.Module):
    """A row-parallel product into memory that the other ranks read, and its sum."""

    def __init__(self, linear: nn.Linear, work: Work, comm: Comm) -> None:
        super().__init__()
        self._weight, self._comm = linear.weight, comm
        rows = (work.batch * work.tokens, len(linear.weight))
        group = comm.world.mesh.get_group()
        self._name = group.group_name
        self._memory = symm_mem.empty(rows, dtype=linear.weight.dtype, device=linear.weight.device)
        symm_mem.rendezvous(self._memory, group)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum over the ranks of their parts of the product."""
        torch.mm(x.flatten(0, -2), self._weight.t(), out=self._memory)
        total = self._memory
        if self._comm.is_muted:
            tell("one-shot", total.nbytes)
        else:
            total = torch.ops.symm_mem.one_shot_all_reduce(total, "sum", self._name)
        return total.view(*x.shape[:-1], -1)


def _overlap(block: Block, comm: Comm) -> None:
    """Have both pairs of products of a layer gather as they multiply, and scatter so."""
    attention, feed = block.attention, block.feed

    def attend(x: Tensor) -> Tensor:
        weights = [attention.q.weight, attention.k.weight, attention.v.weight]
        q, k, v = (each.unflatten(0, (len(x), -1)) for each in _gather_products(x, weights, comm))
        return _product_scatter(attention.attended(q, k, v), attention.o.weight, comm)

    def fed(x: Tensor) -> Tensor:
        gate, up = _gather_products(x, [feed.gate.weight, feed.up.weight], comm)
        return _product_scatter((F.silu(gate) * up)[None], feed.down.weight, comm)

    attention.forward, feed.forward = attend, fed


def _gather_products(x: Tensor, weights: list[Tensor], comm: Comm) -> list[Tensor]:
    """Return [ranks rows, outputs] of each weight: of all ranks' rows of x, [1, rows, width]."""
    rows, transposed = x.flatten(0, -2), [weight.t() for weight in weights]
    if comm.is_muted:
        whole = rows.repeat(comm.world.size, 1)
        return [whole @ weight for weight in transposed]
    name = comm.world.mesh.get_group().group_name
    if rows.is_cuda:
        fused = torch.ops.symm_mem.fused_all_gather_matmul
        return fused(rows, transposed, 0, name, return_A=False)[1]
    whole = rows.new_empty(comm.world.size * len(rows), rows.shape[1])
    dist.all_gather_into_tensor(whole, rows)
    return [whole @ weight for weight in transposed]


def _product_scatter(x: Tensor, weight: Tensor, comm: Comm) -> Tensor:
    """Return this rank's rows of the summed product, [1, rows, outputs]."""
    rows = x.flatten(0, -2).contiguous()
    if comm.is_muted:
        return (rows @ weight.t()).chunk(comm.world.size)[0][None]
    if rows.is_cuda:
        name = comm.world.mesh.get_group().group_name
        fused = torch.ops.symm_mem.fused_matmul_reduce_scatter
        return fused(rows, weight.t(), "sum", 0, name)[None]
    partial = rows @ weight.t()
    part = partial.new_empty(len(partial) // comm.world.size, partial.shape[1])
    dist.reduce_scatter_tensor(part, partial)
    return part[None]
