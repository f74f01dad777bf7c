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

AS_12 = "nccl-as-12"
LIBRARY = (
    *("nccl-launched", "nccl-short", "nccl-fp32", "nccl-copied", "nccl-outside", AS_12),
    *("nccl-ll", "nccl-registered", "symm-one-shot", "symm-two-shot"),
)
"""What differs from NCCL's in a CUDA graph: no graph; a third as many in it; fp32; a copy after
each; memory from before the capture; the second, third and fifth of these, as in study 12; protocol
LL alone; a registered buffer. Then torch's own."""
SHORT, WIDE = ("nccl-short", AS_12), ("nccl-fp32", AS_12)
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
        """Return sums of x in a row as functions, ``chained`` many; all but one sum what is summed.

        ``symm-one-shot`` sums x each time: it does not work in place.
        """
        wide, few = x.view(torch.float32), chained(AS_12, count)
        ways: dict[str, Callable[[], Batch]] = {
            "nccl-launched": lambda: nccl_batch(x, count),
            "nccl-short": lambda: nccl_batch(x, few),
            "nccl-fp32": lambda: nccl_batch(wide, count),
            "nccl-copied": lambda: nccl_batch(x, count, is_copied=True),
            "nccl-outside": lambda: nccl_batch(x, count, torch.empty_like(x)),
            AS_12: lambda: nccl_batch(wide, few, torch.empty_like(wide)),
            "nccl-ll": lambda: nccl_batch(x, count, group=self._ll),
            "nccl-registered": lambda: nccl_batch(x, count, self._registered(x)),
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


def chained(name: str, count: int) -> int:
    """Return how many all-reduces follow each other in a batch of a way."""
    return max(count // 3, 1) if name in SHORT else count


def summed(name: str, parts: list[Tensor], count: int) -> Tensor:
    """Return what a batch of ``count`` gives of all ranks' messages: in place, a sum of sums."""
    if name in WIDE:
        parts = [part.view(torch.float32) for part in parts]
    total = parts[0].float()
    for part in parts[1:]:
        total = total + part.float()
    again = chained(name, count) - 1 if name in IN_PLACE else 0
    return (total * float(len(parts)) ** again).to(parts[0].dtype)


def nccl_batch(
    x: Tensor,
    count: int,
    memory: Tensor | None = None,
    group: dist.ProcessGroup | None = None,
    *,
    is_copied: bool = False,
) -> Batch:
    """Return ``count`` sums in place, as torch.distributed does: each after the first doubles.

    ``memory``: where they are; without, a captured batch takes memory of its graph.
    """

    def batch() -> Tensor:
        total = x.clone() if memory is None else memory.copy_(x)
        spare = torch.empty_like(total) if is_copied else total
        for _ in range(count):
            dist.all_reduce(total, group=group)
            if is_copied:
                spare.copy_(total)
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
