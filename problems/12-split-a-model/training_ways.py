"""Data parallelism, FSDP and pipelines: what a training step is split by, as torch offers it."""

from collections.abc import Callable, Collection
from dataclasses import replace

import torch
import torch.distributed as dist
from law import Overlap, bubble, training_bytes
from model import Stack
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
)
from torch.nn.parallel import DistributedDataParallel
from way import Comm, UnfitError, Way, by_rows
from work import Work, trained
from world import World

BACKWARD = 2 / 3
"""A backward pass has twice a forward pass's products."""
_MIB = 1 << 20
_SCHEDULES = {
    "naive": ScheduleGPipe,
    "gpipe": ScheduleGPipe,
    "1f1b": Schedule1F1B,
    "interleaved": ScheduleInterleaved1F1B,
    "zero": ScheduleInterleavedZeroBubble,
}
_IN_CHUNKS = {"interleaved": 2, "zero": 2}
"""Stages of one rank, by schedule."""

Build = Callable[[Work, World, DeviceMesh], Way]


def data(bucket_mb: int) -> Build:
    """Return the builder of ``DistributedDataParallel`` with buckets of so many MiB."""

    def build(work: Work, world: World, mesh: DeviceMesh) -> Way:
        stack = work.stack()
        split, last = replicated(stack, Comm(world, mesh), mesh, bucket_mb)
        x = own_sequences(work, world)
        return Way(
            trained(split, x, work.input().numel()),
            by_rows(world),
            training_bytes("data", work.sizes(world.size)),
            overlap=Overlap(beside=BACKWARD, ends=last),
            parts=[(stack, range(work.layers))],
        )

    return build


def replicated(
    stack: Stack, comm: Comm, mesh: DeviceMesh, bucket_mb: int, apart: Collection[str] = ()
) -> tuple[DistributedDataParallel, float]:
    """Return a stack whose gradients are summed over the ranks in buckets of so many MiB.

    And the part of their bytes that the last bucket can have: no work is left to hide it.
    ``apart``: names of weights that are a rank's own.
    """
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(stack, apart)
    split = DistributedDataParallel(
        stack,
        process_group=mesh.get_group(),
        bucket_cap_mb=bucket_mb,
        init_sync=False,
        gradient_as_bucket_view=True,
    )
    split.register_comm_hook(comm, _summed)
    sizes = [weight.nbytes for name, weight in stack.named_parameters() if name not in apart]
    return split, min(1.0, max(*sizes, bucket_mb * _MIB) / sum(sizes))


def _summed(comm: Comm, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """Sum a bucket's gradients by a hook: that is seen by who counts."""
    buffer = bucket.buffer()
    if comm.is_muted:
        done: torch.futures.Future[Tensor] = torch.futures.Future()
        done.set_result(buffer)
        return done
    pending = dist.all_reduce(buffer, async_op=True).get_future()
    return pending.then(lambda result: result.value()[0])


def fsdp(*, keep: bool = False, ahead: bool = False) -> Build:
    """Return the builder of ``fully_shard``, a group a layer.

    ``keep``: weights stay whole until the backward pass; ``ahead``: two layers are gathered before
    their turn, not one.
    """

    def build(work: Work, world: World, mesh: DeviceMesh) -> Way:
        stack = work.stack()
        for block in stack.blocks:
            fully_shard(block, mesh=mesh, reshard_after_forward=not keep)
        fully_shard(stack, mesh=mesh)
        if ahead:
            blocks = list(stack.blocks)
            for at, block in enumerate(blocks):
                block.set_modules_to_forward_prefetch(blocks[at + 1 : at + 3])
                block.set_modules_to_backward_prefetch(blocks[max(at - 2, 0) : at][::-1])
        x = own_sequences(work, world)
        return Way(
            trained(stack, x, x.numel()),  # FSDP averages
            by_rows(world),
            training_bytes("fsdp-keep" if keep else "fsdp", work.sizes(world.size)),
            overlap=Overlap(beside=1.0, ends=2 / ((2 if keep else 3) * work.layers)),
            parts=[(stack, range(work.layers))],
        )

    return build


def own_sequences(work: Work, world: World) -> Tensor:
    """Return the rank's part of the batch."""
    if work.batch % world.size:
        raise UnfitError(f"batch {work.batch} over {world.size} ranks")
    return work.input().chunk(world.size)[world.rank].contiguous()


def pipeline(schedule: str) -> Build:
    """Return the builder of a pipeline: naive, gpipe, 1f1b, interleaved or zero (no bubble)."""

    def build(work: Work, world: World, mesh: DeviceMesh) -> Way:
        chunks = _IN_CHUNKS.get(schedule, 1)
        micro = 1 if schedule == "naive" else work.microbatches
        if work.layers % (world.size * chunks) or work.batch % micro:
            raise UnfitError(f"{work.layers} layers in {world.size * chunks} stages")
        stages = _Stages(work, world, mesh, chunks, micro)
        of = _SCHEDULES[schedule]
        given = stages.made if chunks > 1 else stages.made[0]
        planned = of(given, micro, loss_fn=lambda out, _: out.float().square().mean())
        sizes = replace(work.sizes(world.size), microbatches=micro, chunks=chunks)
        sends = 2 * (world.size * chunks - 1) * micro / world.size
        return Way(
            step=lambda: stages.step(planned),
            gathered=lambda loss: loss,
            law=training_bytes("pipeline", sizes),
            overlap=Overlap(beside=1.0, ends=min(1.0, 2 * (world.size - 1) / sends)),
            idle=bubble(schedule, sizes),
            parts=stages.parts,
        )

    return build


class _Stage(PipelineStage):
    """A stage whose shapes are all given, so that it has nothing to ask its neighbours.

    Versions of torch after 2.11 let the stages vote on that by messages, which a muted group loses.
    """

    def _warmup_forward_vote(self, *_: object, **__: object) -> Tensor:
        return torch.ones(1, dtype=torch.int32)

    def _warmup_backward_result(self, *_: object, **__: object) -> Tensor:
        return torch.ones(1, dtype=torch.int32)


class _Stages:
    """A rank's stages: ``chunks`` pieces of the stack, every ``ranks``-th one."""

    def __init__(self, work: Work, world: World, mesh: DeviceMesh, chunks: int, micro: int) -> None:
        self._x = work.input()
        self._rank, self._last = world.rank, world.size - 1
        self.parts: list[tuple[Stack, range]] = []
        self.made = []
        count = world.size * chunks
        layers = work.layers // count
        example = torch.empty(
            work.batch // micro, *self._x.shape[1:], dtype=self._x.dtype, device=self._x.device
        )
        for number in range(world.rank, count, world.size):
            numbers = range(number * layers, (number + 1) * layers)
            part = work.stack(numbers, ends=number == count - 1)
            self.parts.append((part, numbers))
            stage = _Stage(
                part,
                number,
                count,
                torch.device(world.device, world.rank)
                if world.device == "cuda"
                else torch.device("cpu"),
                input_args=(example.clone().requires_grad_(number > 0),),
                output_args=(example.clone().requires_grad_(),),
                group=mesh.get_group(),
            )
            self.made.append(stage)

    def step(self, planned: ScheduleGPipe) -> Tensor:
        """Run the schedule; return the mean loss, 0 on ranks without the last stage."""
        for part, _ in self.parts:
            for weight in part.parameters():
                weight.grad = None
        given = (self._x,) if self._rank == 0 else ()
        losses: list[Tensor] = []
        if self._rank == self._last:
            planned.step(*given, target=self._x, losses=losses)
            return torch.stack(losses).mean()
        planned.step(*given)
        return self._x.new_zeros((), dtype=torch.float32)
