"""Time functions of (a, b, c) against each other: in turn, rotated buffers, warm clocks.

A batch is a CUDA graph of as many launches as last some milliseconds, over sets of buffers that
together exceed the L2 cache three times. In each round every contender runs one batch, in an order
of its own; the numbers compared are from the same round. Clock and power are those of the batch.

At the power limit the length of a batch matters, and the company. In short ones (12 ms) the limit
sees the mean of contenders that all press against it, and they share a clock; in long ones (250
ms), and beside slow ones, each runs at the clock that its own power allows.
"""

import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from checking import Run, Shape
from clocks import Clocks
from nvml import Monitor

L2_BYTES = 60 << 20
BATCH_MS = 12.0
WARM_S = 1.0


@dataclass
class Series:
    """One contender's measurements: µs a launch in each round, clock and power meanwhile.

    ``mhz``: as the multiprocessors counted; ``nvml_mhz``: the mean of what NVML told. Power is NaN
    of batches that are too short for it.
    """

    name: str
    us: list[float] = field(default_factory=list)
    mhz: list[float] = field(default_factory=list)
    nvml_mhz: list[float] = field(default_factory=list)
    watt: list[float] = field(default_factory=list)

    def tflops(self, shape: Shape) -> float:
        """Return the median rate in TFLOP/s."""
        return 2 * math.prod(shape) / median(self.us) / 1e6

    def ratio(self, baseline: "Series") -> float:
        """Return how many times as fast as the baseline it is: the median over the rounds."""
        pairs = zip(baseline.us, self.us, strict=True)
        return median(theirs / ours for theirs, ours in pairs)


def buffers(element: str, shape: Shape) -> list[tuple[Any, Any, Any]]:
    """Return sets of operands, of random normal numbers, that together exceed L2 three times."""
    import torch

    m, n, k = shape
    dtype = torch.bfloat16 if element == "bf16" else torch.float16
    count = math.ceil(3 * L2_BYTES / (2 * (m * k + k * n + m * n)))
    made = []
    for _ in range(count):
        a = (torch.randn(m, k, device="cuda") * k**-0.5).to(dtype)
        b = torch.randn(k, n, device="cuda").to(dtype)
        made.append((a, b, torch.empty(m, n, dtype=dtype, device="cuda")))
    return made


class Batch:
    """Launches of one contender over the rotated buffers, as a CUDA graph."""

    def __init__(
        self, run: Run, sets: list[tuple[Any, Any, Any]], launches: int, replays: int = 1
    ) -> None:
        import torch

        for one in sets:
            run(*one)  # bind arguments and load modules before the capture
        torch.cuda.synchronize()
        self.launches, self._replays = launches * replays, replays
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for index in range(launches):
                run(*sets[index % len(sets)])
        self._begin = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)

    def start(self) -> None:
        """Launch the batch between two events; returns at once."""
        self._begin.record()
        for _ in range(self._replays):
            self._graph.replay()
        self._end.record()

    def done(self) -> bool:
        """Return whether the batch has ended."""
        return bool(self._end.query())

    def us(self) -> float:
        """Wait for the batch and return its time for one launch."""
        self._end.synchronize()
        return float(self._begin.elapsed_time(self._end)) * 1000 / self.launches


def launches(run: Run, sets: list[tuple[Any, Any, Any]]) -> int:
    """Return how many launches make a batch, at least one of each set of buffers."""
    import torch

    for one in sets[:3]:
        run(*one)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for index in range(8):
        run(*sets[index % len(sets)])
    end.record()
    end.synchronize()
    wanted = math.ceil(BATCH_MS * 8 / max(float(begin.elapsed_time(end)), 1e-3))
    return math.ceil(min(max(wanted, 2), 600) / len(sets)) * len(sets)


def interleaved(
    runs: dict[str, Run],
    sets: list[tuple[Any, Any, Any]],
    rounds: int,
    monitor: Monitor,
    batch_ms: float = BATCH_MS,
) -> dict[str, Series]:
    """Return every contender's series; the first is the one that the batches are sized by."""
    count = launches(next(iter(runs.values())), sets)
    replays = max(1, round(batch_ms / BATCH_MS))
    batches = {name: Batch(run, sets, count, replays) for name, run in runs.items()}
    series = {name: Series(name) for name in runs}
    clocks = Clocks()
    _warm(batches)
    for _ in range(rounds):
        for name in random.sample(list(batches), len(batches)):
            clocks.mark(end=False)
            batches[name].start()
            clocks.mark(end=True)
            nvml_mhz, watt = monitor.watch(batches[name].done)
            series[name].us.append(batches[name].us())
            series[name].mhz.append(clocks.mhz())
            series[name].nvml_mhz.append(nvml_mhz)
            series[name].watt.append(watt)
    return series


def _warm(batches: dict[str, Batch]) -> None:
    """Run until power and clock have settled."""
    until = time.monotonic() + WARM_S
    while time.monotonic() < until:
        for batch in batches.values():
            batch.start()
        for batch in batches.values():
            batch.us()


def best_of(
    candidates: Iterator[tuple[int, Callable[[Any, Any, Any], None]]],
    sets: list[tuple[Any, Any, Any]],
) -> tuple[int, float]:
    """Return the index and µs of the fastest of a baseline's algorithms, each timed three times."""
    found: list[tuple[float, int]] = []
    for index, run in candidates:
        count = max(2, launches(run, sets) // 3)
        batch = Batch(run, sets, count)
        times = []
        for _ in range(3):
            batch.start()
            times.append(batch.us())
        found.append((median(times), index))
    us, index = min(found)
    return index, us
