"""A rank and the others: groups, a mesh that sends, one that does not, and a clock for all."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.testing._internal.distributed.fake_pg
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

_TIMEOUT = timedelta(seconds=240)
_NCCL_TIMEOUT = timedelta(seconds=120)
"""Shorter than a cell's time, so that a collective that hangs is named."""
_WARM = 3

# Multicast needs rights that a container may lack; all here is plain peer memory.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


class World:
    """Rank ``rank`` of ``size``. ``meeting``: a file by which the ranks find each other.

    ``mesh`` and ``group`` communicate. ``muted`` has the same shape and a backend that returns at
    once, so a way that is built on it is the rank's own work alone.
    """

    def __init__(self, rank: int, size: int, device: str, meeting: str) -> None:
        self.rank, self.size, self.device = rank, size, device
        place = torch.device(device, rank) if device == "cuda" else None
        if place:
            torch.cuda.set_device(place)
        dist.init_process_group(
            "nccl" if place else "gloo",
            store=dist.FileStore(meeting, size),
            rank=rank,
            world_size=size,
            device_id=place,
            timeout=_NCCL_TIMEOUT if place else _TIMEOUT,
        )
        # Named apart: DTensor takes meshes of the same ranks and names for one another.
        self.mesh = init_device_mesh(device, (size,), mesh_dim_names=("ranks",))
        quiet = dist.new_group(backend="fake")
        self.muted = DeviceMesh.from_group(quiet, device, mesh_dim_names=("muted",))
        self._hosts = dist.new_group(backend="gloo", timeout=_TIMEOUT)
        self._mark = torch.zeros(1, device=device)
        self._side = torch.cuda.Stream() if place else None
        self.kept: dict[str, Any] = {}

    def meet(self) -> None:
        """Wait until all ranks' devices have done all that they were given."""
        self.synchronize()
        dist.barrier(group=self._hosts)

    def synchronize(self) -> None:
        """Wait for this rank's device."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def timed(self, step: Callable[[], object], count: int) -> float:
        """Return the ms of one of ``count`` steps on the slowest rank, begun together."""
        self.meet()
        if self.device == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            dist.all_reduce(self._mark)  # the GPUs begin together: their hosts may not
            begin.record()
            for _ in range(count):
                step()
            end.record()
            end.synchronize()
            return self.most(begin.elapsed_time(end) / count)
        since = time.perf_counter()
        for _ in range(count):
            step()
        return self.most((time.perf_counter() - since) * 1e3 / count)

    @contextmanager
    def beside(self, call: Callable[[], object]) -> Iterator[None]:
        """Run a collective beside what is launched inside; on a CPU before it."""
        if self.device != "cuda":
            call()
            yield
            return
        main, side = torch.cuda.current_stream(), self._side
        side.wait_stream(main)
        with torch.cuda.stream(side):
            call()
        yield
        main.wait_stream(side)

    def most(self, value: float) -> float:
        """Return the largest of the ranks' values."""
        return self._over_ranks(value, dist.ReduceOp.MAX)

    def mean(self, value: float) -> float:
        """Return the mean of the ranks' values."""
        return self._over_ranks(value, dist.ReduceOp.SUM) / self.size

    def says_more(self, *, more: bool = False) -> bool:
        """Return whether rank 0 has said that one more step comes; it gives ``more``."""
        return bool(self.most(float(more and self.rank == 0)))

    def _over_ranks(self, value: float, operation: Any) -> float:
        held = torch.tensor([value], dtype=torch.float64)
        dist.all_reduce(held, operation, group=self._hosts)
        return float(held)

    def captured(self, step: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """Return the step as a CUDA graph; on a CPU the step itself."""
        if self.device != "cuda":
            return step
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(_WARM):
                step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            result = step()
        self.meet()

        def replay() -> Tensor:
            graph.replay()
            return result

        return replay

    def close(self) -> None:
        """Give up the communicators."""
        self.meet()
        self.kept.clear()
        dist.destroy_process_group()
