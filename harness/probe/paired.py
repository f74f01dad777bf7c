"""Times contenders against each other in one process: in turn, rotated operands, warm clocks.

A batch is a CUDA graph of as many launches as last some milliseconds, over sets of operands that
together exceed the L2 cache three times. In each turn every contender runs one batch, in an order
of its own; the numbers compared are from the same turn. Clock and power are those of the batch.

At the power limit the length of a batch matters, and the contender set. In short batches (12 ms)
the limit sees the mean of contenders that all press against it, and they share a clock; in long
ones (250 ms), and beside slow ones, each runs at the clock that its own power allows.
"""

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from harness.probe.power import Monitor
from harness.probe.sm_clock import ClockReader

BATCH_MS = 12.0
WARM_S = 1.0
_MOST_LAUNCHES = 600
_CACHE_SIZES = 3  # lines are not replaced strictly by age

Operands = tuple[Any, ...]
"""The arguments of one launch."""

Run = Callable[..., object]
"""A contender: launches its kernels for one set of operands on torch's current stream."""


@dataclass
class Turns:
    """One contender's measurements, a value a turn.

    ``us``: µs a launch. ``mhz``: the clock that the multiprocessors counted, NaN without a reader.
    ``nvml_mhz``: the mean of the clocks that NVML reported. ``watt`` is NaN for batches that are
    too short for NVML's energy counter.
    """

    name: str
    us: list[float] = field(default_factory=list)
    mhz: list[float] = field(default_factory=list)
    nvml_mhz: list[float] = field(default_factory=list)
    watt: list[float] = field(default_factory=list)

    def speed_over(self, baseline: "Turns") -> float:
        """Return the speedup over the baseline: the median over the turns."""
        pairs = zip(baseline.us, self.us, strict=True)
        return median(theirs / ours for theirs, ours in pairs)


class LaunchBatch:
    """Launches of one contender over the rotated operands, as a CUDA graph."""

    def __init__(self, run: Run, sets: Sequence[Operands], launches: int) -> None:
        import torch

        for operands in sets:
            run(*operands)  # bind arguments and load modules before the capture
        torch.cuda.synchronize()
        self.launches, self._replays = launches, 1
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for index in range(launches):
                run(*sets[index % len(sets)])
        self._begin = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)

    def lengthen(self, ms: float) -> None:
        """Replay the graph as often as it takes to last so long, by one replay's time."""
        self.start()
        once = self.us() * self.launches / 1000
        self._replays = max(1, round(ms / once))
        self.launches *= self._replays

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


def sets_beyond_cache(bytes_each: int) -> int:
    """Return the number of sets of that size whose sum is three times the L2 cache's size."""
    import torch

    cache = int(torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size)
    return math.ceil(_CACHE_SIZES * cache / bytes_each)


def launches(run: Run, sets: Sequence[Operands]) -> int:
    """Return the number of launches in a batch of 12 ms, at least one for each set of operands."""
    import torch

    for operands in sets[:3]:
        run(*operands)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for index in range(8):
        run(*sets[index % len(sets)])
    end.record()
    end.synchronize()
    wanted = math.ceil(BATCH_MS * 8 / max(float(begin.elapsed_time(end)), 1e-3))
    return math.ceil(min(max(wanted, 2), _MOST_LAUNCHES) / len(sets)) * len(sets)


def interleaved(
    runs: dict[str, Run],
    sets: Sequence[Operands],
    turns: int,
    monitor: Monitor,
    clock: ClockReader | None = None,
    batch_ms: float = BATCH_MS,
) -> dict[str, Turns]:
    """Return every contender's turns; the first contender sets how many launches make a batch.

    Batches longer than ``BATCH_MS`` last as long for every contender, so that each draws the power
    that its own kernels need.

    ``clock`` counts the multiprocessors' clock over each batch; a problem that can launch a kernel
    of its own supplies it.
    """
    count = launches(next(iter(runs.values())), sets)
    batches = {name: LaunchBatch(run, sets, count) for name, run in runs.items()}
    if batch_ms > BATCH_MS:
        for batch in batches.values():
            batch.lengthen(batch_ms)
    measured = {name: Turns(name) for name in runs}
    _warm(batches)
    for _ in range(turns):
        for name in random.sample(list(batches), len(batches)):
            _run(batches[name], measured[name], monitor, clock)
    return measured


def _run(batch: LaunchBatch, turns: Turns, monitor: Monitor, clock: ClockReader | None) -> None:
    """Run one batch and append its time, clocks and power."""
    if clock:
        clock.mark(end=False)
    batch.start()
    if clock:
        clock.mark(end=True)
    nvml_mhz, watt = monitor.watch(batch.done)
    turns.us.append(batch.us())
    turns.mhz.append(clock.mhz() if clock else math.nan)
    turns.nvml_mhz.append(nvml_mhz)
    turns.watt.append(watt)


def _warm(batches: dict[str, LaunchBatch]) -> None:
    """Run until power and clock have settled."""
    until = time.monotonic() + WARM_S
    while time.monotonic() < until:
        for batch in batches.values():
            batch.start()
        for batch in batches.values():
            batch.us()


def best_of(candidates: Iterable[Run], sets: Sequence[Operands]) -> tuple[int, float]:
    """Return index and µs a launch of the fastest candidate, each timed in three short batches."""
    medians: list[tuple[float, int]] = []
    for index, run in enumerate(candidates):
        batch = LaunchBatch(run, sets, max(2, launches(run, sets) // 3))
        times = []
        for _ in range(3):
            batch.start()
            times.append(batch.us())
        medians.append((median(times), index))
    us, index = min(medians)
    return index, us
