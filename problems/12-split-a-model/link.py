"""What collectives take on this link, by kind and size: predictions look it up."""

from collections.abc import Callable, Sequence
from math import isqrt
from statistics import median
from typing import Any

import law
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
from counted import Op
from torch import Tensor
from world import World

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "uneven", "send")
"""uneven: an all-to-all that is told how much goes to each rank, into memory made for it."""
GRAPH_KINDS = ("all-reduce", "one-shot")
"""What the steps that are CUDA graphs make; one-shot: an all-reduce over symmetric memory."""
HIDDEN_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "send")
"""What ways have run beside products."""
COUNTS = 1024
"""Bytes of an exchange of counts that the hosts read: less takes as long."""
CHAIN = 16
_REPEATS = 8
_TURNS = 7

Table = dict[str, list[tuple[float, float]]]
"""By kind, sizes in bytes and the µs that each took."""


class Link:
    """µs of a collective by kind and size, straight lines in log-log between measured sizes.

    ``measured``: launched by the host. ``in_graph``: within a CUDA graph. ``losses``: by kind, the
    ms that products take longer per ms of a collective beside them.
    """

    def __init__(
        self,
        measured: Table,
        in_graph: Table | None = None,
        losses: dict[str, float] | None = None,
    ) -> None:
        self.measured, self.in_graph = measured, in_graph or {}
        self.losses = losses or {}

    def us(self, kind: str, size: float, *, is_graph: bool = False) -> float:
        """Return the µs of a collective of ``size`` bytes, as ``law.sent`` counts a size.

        A kind that was not measured in a graph is taken as launched; a one-shot that was not
        measured, as an all-reduce.
        """
        table = self.measured | (self.in_graph if is_graph else {})
        if kind == "one-shot" and kind not in table:
            kind = "all-reduce"
        return law.between(table[kind], size)

    def loss(self, ops: Sequence[Op]) -> float:
        """Return the ms that products take longer per ms of collectives beside them.

        It is each kind's by the time that it takes, of those that run beside products.
        """
        taken = [(kind, self.us(kind, size)) for kind, size in ops if kind in self.losses]
        total = sum(us for _, us in taken)
        return sum(self.losses[kind] * us for kind, us in taken) / total if total else 0.0

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
    in_graph = {kind: points for kind, points in replayed.items() if points}
    return Link(table, in_graph, {kind: loss_of(kind, max(sizes), world) for kind in HIDDEN_KINDS})


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


def loss_of(kind: str, most: int, world: World) -> float:
    """Return the ms that a product takes longer per ms of a collective that runs beside it.

    NCCL's kernels take SMs and the memory's bandwidth from it. Of ``most`` bytes the collective has
    a quarter, each matrix of the product an eighth, so that the product takes longer. The two
    alternate, since clocks drift.
    """
    call = collective(kind, most // 4, world)
    side = isqrt(most // 8 // torch.bfloat16.itemsize)
    matrix = torch.randn(side, side, dtype=torch.bfloat16, device=world.device)

    def product() -> Tensor:
        return matrix @ matrix

    def both() -> Tensor:
        with world.beside(call):
            return product()

    both()
    losses = []
    for _ in range(_TURNS):
        alone, beside, collective_alone = (
            world.timed(step, _REPEATS) for step in (product, both, call)
        )
        losses.append((beside - max(alone, collective_alone)) / collective_alone)
    return max(0.0, median(losses))


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
