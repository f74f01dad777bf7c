"""Bursts without a pause: while the GPU works on one, threads decode the next."""

import time
from itertools import pairwise

import torch
from answering import Ask, Part, Server
from spans import Clock

from harness.probe.cell import Cell

_ALONE = 4
"""Bursts in a row that are timed without the host's part."""


def run(cell: Cell, server: Server, asks: list[Ask]) -> None:
    """Sample the time of a burst under load, and the share that the GPU alone takes of it.

    The GPU alone: images lie in its memory, and it processes, encodes and prefills burst after
    burst with nothing read in between. ``busy`` is that time over a burst's time under load.
    """
    alone = _alone_ms(server, asks, cell.device)
    walls = _under_load_ms(server, asks, cell.params["bursts"])
    cell.sample("load", "burst_ms", "ms", walls)
    cell.sample("load", "alone_ms", "ms", [alone])
    cell.sample("load", "busy", "%", [100 * alone / wall for wall in walls])
    cell.sample("load", "requests_per_s", "requests/s", [1e3 * len(asks) / ms for ms in walls])


def _under_load_ms(server: Server, asks: list[Ask], bursts: int) -> list[float]:
    """Return the ms from the first tokens of a burst to those of the next, after the first two."""
    clock = Clock(server.device)
    clock.start()
    ready = server.begun(asks, clock)
    before: list[Part] = []
    ends = []
    for _ in range(bursts):
        following = server.begun(asks, clock)
        now = list(server.launched(asks, ready, clock))
        _read(before)
        ends.append(time.perf_counter())
        before, ready = now, following
    _read(before)
    for future in ready.values():
        future.result()
    return [(after - start) * 1e3 for start, after in pairwise(ends[2:])]


def _read(parts: list[Part]) -> None:
    for part in parts:
        part.tokens.tolist()


def _alone_ms(server: Server, asks: list[Ask], device: str) -> float:
    """Return the ms of a burst whose images lie in the device's memory."""
    images, clock = server.on_device(asks), Clock(device)
    clock.start()
    server.from_device(asks, images, clock)
    _wait(device)
    begun = time.perf_counter()
    for _ in range(_ALONE):
        server.from_device(asks, images, clock)
    _wait(device)
    return (time.perf_counter() - begun) * 1e3 / _ALONE


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
