"""All-reduces that users have without a kernel of their own, beside NCCL's in a CUDA graph.

What a build of torch or a container does not give is left out; the reason is kept.
"""

import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
from torch import Tensor

LIBRARY = ("nccl-launched", "nccl-ll", "nccl-registered", "symm-one-shot", "symm-two-shot")
"""NCCL without a graph, by its protocol LL alone, with a registered buffer; torch's own."""
IN_PLACE = {"nccl", *LIBRARY} - {"symm-one-shot"}
"""Those that write the sum over what was summed: in a row, each sums the sum before."""

Batch = Callable[[], Tensor]


class LibraryWays:
    """Makes them for messages of a size. ``left_out``: by name, why there is none."""

    def __init__(self) -> None:
        self.left_out: dict[str, str] = {}
        self._backend = dist.group.WORLD._get_backend(torch.device("cuda"))
        self._pools: list[Any] = []
        self._ll = _protocol("LL")

    def made(self, x: Tensor, count: int) -> dict[str, Batch]:
        """Return ``count`` sums of x in a row as a function; all but one sum what is summed.

        ``symm-one-shot`` sums x each time: it does not work in place.
        """
        ways: dict[str, Callable[[], Batch]] = {
            "nccl-launched": lambda: _in_place(x, count, torch.empty_like(x), None),
            "nccl-ll": lambda: _in_place(x, count, torch.empty_like(x), self._ll),
            "nccl-registered": lambda: _in_place(x, count, self._registered(x), None),
            "symm-one-shot": lambda: _symmetric(x, count, "one_shot_all_reduce"),
            "symm-two-shot": lambda: _symmetric(x, count, "two_shot_all_reduce_"),
        }
        found = {}
        for name in LIBRARY:
            why = ""
            try:
                found[name] = ways[name]()
                found[name]()
            except (RuntimeError, AttributeError, TypeError) as error:
                why = str(error).partition("\n")[0] or type(error).__name__
            lacking = torch.tensor([float(bool(why))], device="cuda")
            dist.all_reduce(lacking)  # a way is every rank's or nobody's
            if lacking.item():
                found.pop(name, None)
                self.left_out[name] = why or "another rank cannot"
        return found

    def close(self) -> None:
        """Give up the windows, which the communicator has to outlive."""
        for pool in self._pools:
            self._backend.deregister_mem_pool(pool)
        self._pools.clear()

    def _registered(self, x: Tensor) -> Tensor:
        """Return memory like x that NCCL knows as a symmetric window."""
        pool = torch.cuda.MemPool(self._backend.mem_allocator)
        with torch.cuda.use_mem_pool(pool):
            memory = torch.empty_like(x)
        self._backend.register_mem_pool(pool, symm=True)
        self._pools.append(pool)
        return memory


def _protocol(name: str) -> dist.ProcessGroup:
    """Return a group whose NCCL knows one protocol; it reads that as the group is made."""
    before = os.environ.get("NCCL_PROTO")
    os.environ["NCCL_PROTO"] = name
    try:
        group = dist.new_group()
        dist.all_reduce(torch.zeros(1, device="cuda"), group=group)
        torch.cuda.synchronize()
    finally:
        os.environ.pop("NCCL_PROTO")
        if before is not None:
            os.environ["NCCL_PROTO"] = before
    return group


def _in_place(x: Tensor, count: int, total: Tensor, group: dist.ProcessGroup | None) -> Batch:
    def batch() -> Tensor:
        total.copy_(x)
        for _ in range(count):
            dist.all_reduce(total, group=group)
        return total

    return batch


def _symmetric(x: Tensor, count: int, name: str) -> Batch:
    """Return sums by torch's symmetric memory: a product would write its result there itself."""
    group = dist.group.WORLD
    memory = symm_mem.empty(x.shape, dtype=x.dtype, device=x.device)
    symm_mem.rendezvous(memory, group)
    operator = getattr(torch.ops.symm_mem, name)

    def batch() -> Tensor:
        memory.copy_(x)
        total = memory
        for _ in range(count):
            total = operator(memory, "sum", group.group_name)
        return total

    return batch
