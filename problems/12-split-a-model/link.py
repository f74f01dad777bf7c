"""What collectives take on this link, by kind and size: predictions look it up."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from world import World

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send")
_REPEATS = 8


class Link:
    """µs of a collective by kind and size, straight lines in log-log between measured sizes."""

    def __init__(self, measured: dict[str, list[tuple[float, float]]]) -> None:
        self.measured = measured

    def us(self, kind: str, size: float) -> float:
        """Return the µs of a collective of ``size`` bytes, as ``law.sent`` counts a size."""
        points = self.measured[kind]
        if size <= points[0][0]:
            return points[0][1]
        last = len(points) - 1
        for at, ((low, low_us), (high, high_us)) in enumerate(pairwise(points), 1):
            if size <= high or at == last:
                part = math.log(size / low) / math.log(high / low)
                return math.exp(math.log(low_us) + part * math.log(high_us / low_us))
        raise ValueError(f"{kind} was measured at fewer than two sizes")

    @property
    def gb_s(self) -> float:
        """Return the highest rate of a send, in GB/s."""
        return max(size / us / 1e3 for size, us in self.measured["send"])


def measured(world: World, sizes: list[int]) -> Link:
    """Measure each kind at each size; every rank has the same table."""
    table: dict[str, list[tuple[float, float]]] = {}
    for kind in KINDS:
        points = []
        for size in sizes:
            step = collective(kind, size, world)
            step()
            times = [world.timed(step, _REPEATS) for _ in range(3)]
            points.append((float(size), 1e3 * sorted(times)[1]))
        table[kind] = points
    return Link(table)


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
