"""What collectives take on this link, by kind and size: predictions look it up."""

from collections.abc import Callable
from typing import Any

import law
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
from torch import Tensor
from world import World

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "uneven", "send")
"""uneven: an all-to-all that is told how much goes to each rank, into memory made for it."""
GRAPH_KINDS = ("all-reduce", "one-shot")
"""What the steps that are CUDA graphs make; one-shot: an all-reduce over symmetric memory."""
COUNTS = 1024
"""Bytes of an exchange of counts that the hosts read: less takes as long."""
CHAIN = 16
_REPEATS = 8

Table = dict[str, list[tuple[float, float]]]
"""By kind, sizes in bytes and the µs that each took."""


class Link:
    """µs of a collective by kind and size, straight lines in log-log between measured sizes.

    ``measured``: launched by the host. ``in_graph``: within a CUDA graph.
    """

    def __init__(self, measured: Table, in_graph: Table | None = None) -> None:
        self.measured, self.in_graph = measured, in_graph or {}

    def us(self, kind: str, size: float, *, is_graph: bool = False) -> float:
        """Return the µs of a collective of ``size`` bytes, as ``law.sent`` counts a size.

        A kind that was not measured in a graph is taken as launched; a one-shot that was not
        measured, as an all-reduce.
        """
        table = self.measured | (self.in_graph if is_graph else {})
        if kind == "one-shot" and kind not in table:
            kind = "all-reduce"
        return law.between(table[kind], size)

    @property
    def gb_s(self) -> float:
        """Return the highest rate of a send, in GB/s."""
        return max(size / us / 1e3 for size, us in self.measured["send"])


def measured(world: World, sizes: list[int], graph_sizes: list[int]) -> Link:
    """Measure each kind at each size, launched and in a graph; every rank has the same tables."""
    table: Table = {}
    for kind in KINDS:
        points = []
        for size in sizes:
            step = collective(kind, size, world)
            step()
            points.append((float(size), _median_us(step, world)))
        table[kind] = points
    table["counts"] = [(float(COUNTS), _counts_us(world))]
    replayed = {kind: _replayed(kind, graph_sizes, world) for kind in GRAPH_KINDS}
    return Link(table, {kind: points for kind, points in replayed.items() if points})


def _median_us(step: Callable[[], Any], world: World) -> float:
    return 1e3 * sorted(world.timed(step, _REPEATS) for _ in range(3))[1]


def _counts_us(world: World) -> float:
    """Return the µs that an exchange of counts takes more than to read the rank's own.

    The host waits for them before it launches the next kernel, so latencies add up.
    """
    own = torch.zeros(COUNTS // 8, dtype=torch.int64, device=world.device)
    came = torch.zeros_like(own)

    def exchange() -> list[int]:
        dist.all_to_all_single(came, own)
        return came.tolist()

    exchange()
    return max(_median_us(exchange, world) - _median_us(own.tolist, world), 1e-3)


def _replayed(kind: str, sizes: list[int], world: World) -> list[tuple[float, float]]:
    """Return the µs of a kind in a graph by size; nothing if one of the ranks cannot have it."""
    points = []
    for size in sizes:
        call = one_shot(size, world) if kind == "one-shot" else collective(kind, size, world)
        if world.most(call is None) or call is None:
            return []
        points.append((float(size), chained_us(call, world)))
    return points


def chained_us(call: Callable[[], Any], world: World) -> float:
    """Return the µs of one of ``CHAIN`` calls, each after the one before, in a CUDA graph."""

    def chain() -> Any:
        for _ in range(CHAIN):
            result = call()
        return result

    return _median_us(world.captured(chain), world) / CHAIN


def one_shot(size: int, world: World) -> Callable[[], Tensor] | None:
    """Return a one-shot all-reduce of ``size`` bytes in bf16; None without symmetric memory."""
    if world.device != "cuda":
        return None
    group = world.mesh.get_group()
    place = torch.device(world.device, world.rank)  # memory of GPU -1 is asked for without a number
    try:
        memory = symm_mem.empty(size // 2, dtype=torch.bfloat16, device=place).zero_()
        symm_mem.rendezvous(memory, group)
        torch.ops.symm_mem.one_shot_all_reduce(memory, "sum", group.group_name)
    except RuntimeError:
        return None
    return lambda: torch.ops.symm_mem.one_shot_all_reduce(memory, "sum", group.group_name)


def collective(kind: str, size: int, world: World) -> Callable[[], Any]:
    """Return a call of a collective whose ``law.sent`` size is ``size`` bytes."""
    count = max(size // 4, world.size)
    count -= count % world.size
    whole = torch.zeros(count, device=world.device)
    part = torch.zeros(count // world.size, device=world.device)
    if kind == "all-reduce":
        return lambda: dist.all_reduce(whole)
    if kind == "all-gather":
        return lambda: dist.all_gather_into_tensor(whole, part)
    if kind == "reduce-scatter":
        return lambda: dist.reduce_scatter_tensor(part, whole)
    if kind == "all-to-all":
        return lambda: dist.all_to_all_single(*_leaving(count, world))
    if kind == "uneven":
        came, sent = _leaving(count, world)
        parts = [len(sent) // world.size] * world.size
        return lambda: dist.all_to_all_single(torch.empty_like(came), sent, parts, parts)
    return lambda: passed_on(whole, world)


def _leaving(count: int, world: World) -> tuple[Tensor, Tensor]:
    """Return tensors of an all-to-all of which ``count`` numbers leave the rank."""
    whole = count // (world.size - 1) * world.size
    whole -= whole % world.size
    key = f"leaving.{whole}"
    if key not in world.kept:
        world.kept[key] = tuple(torch.zeros(whole, device=world.device) for _ in range(2))
    pair: tuple[Tensor, Tensor] = world.kept[key]
    return pair


def passed_on(message: Tensor, world: World) -> Tensor:
    """Send to the next rank and receive from the one before; return what came."""
    came = torch.empty_like(message)
    exchange = [
        dist.P2POp(dist.isend, message, (world.rank + 1) % world.size),
        dist.P2POp(dist.irecv, came, (world.rank - 1) % world.size),
    ]
    for work in dist.batch_isend_irecv(exchange):
        work.wait()
    return came
