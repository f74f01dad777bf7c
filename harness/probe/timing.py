"""Time per step, measured without a profiler: by which clocks, and until when.

Host and GPU time differ at small batch, so both are taken. Each is sampled until its median is
known well enough or a limit is met, and says which it was.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import torch

from harness.probe.l2 import Flush
from harness.probe.series import Series, collect, limits

Step = Callable[[], object]

_SHORTEST_MS = 2.0  # of steps in one sample: an event is recorded with about a microsecond's error
_MOST_STEPS = 200
_SHORTEST_SLEEP_MS = 0.1
_LONGEST_SLEEP_MS = 1000.0
_CYCLES_PER_MS = 2_000_000  # about 2 GHz: too long a sleep costs time, too short is noticed


def series(step: Step, settings: dict[str, Any], device: str) -> list[Series]:
    """Return every series of a step: wall_time, latency, gpu_time and gpu_time_cold.

    wall_time: ms of host time a step from the first launch until the device is idle, over several
    steps. latency: the same of one step alone. gpu_time: ms of GPU time, steps back to back, so
    with what the step before left in the L2 cache. gpu_time_cold: one step after a flush of L2.
    The last two are absent on a CPU, and where the host cannot queue a step ahead of the device.
    """
    steps, asked = _planned(step, settings, device)
    measured = [
        collect("wall_time", lambda: _wall(step, steps, device), steps, asked),
        collect("latency", lambda: _wall(step, 1, device), 1, asked),
    ]
    if device == "cuda":
        measured += [_gpu_time(step, steps, asked), _cold(step, asked)]
    return [series for series in measured if series.values]


def gpu_series(step: Step, settings: dict[str, Any], together: int | None = None) -> Series:
    """Return the GPU time alone, in ms a step; ``together``: so many steps make a sample."""
    steps, asked = _planned(step, settings, "cuda")
    return _gpu_time(step, together or steps, asked, float(settings.get("rest_ms", 0)))


def _planned(step: Step, settings: dict[str, Any], device: str) -> tuple[int, dict[str, float]]:
    """Return the number of steps in a sample, and the limits of a series."""
    once_ms = min(_wall(step, 1, device) for _ in range(3))
    steps = max(int(settings["steps"]), math.ceil(_SHORTEST_MS / once_ms))
    return min(steps, _MOST_STEPS), limits(settings)


def _gpu_time(step: Step, steps: int, asked: dict[str, float], rest_ms: float = 0) -> Series:
    queue = _Queue(step, steps, rest_ms)
    gpu_time = collect("gpu_time", queue.time, steps, asked)
    if gpu_time.values or steps == 1:
        return gpu_time
    return _gpu_time(step, 1, asked, rest_ms)  # what many launches fill, one step may not


def _cold(step: Step, asked: dict[str, float]) -> Series:
    flush = Flush()
    queue = _Queue(step, 1, before=flush)
    cold = collect("gpu_time_cold", queue.time, 1, asked)
    flush.close()
    return cold


def _wall(step: Step, steps: int, device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / steps


class _Queue:
    """Times steps that were queued while the device slept, so that it never waits for the host.

    nvbench's blocking kernel does the same. The sleep is no longer than the host needs: a device
    that rests most of the time runs at clocks that it could not keep. It grows if it is too short.
    """

    def __init__(
        self, step: Step, steps: int, rest_ms: float = 0, before: Step | None = None
    ) -> None:
        self._step, self._steps, self._before = step, steps, before
        launched = min(self._launched() for _ in range(3))
        self._sleep_ms = max(2 * launched + _SHORTEST_SLEEP_MS, rest_ms)

    def time(self) -> float | None:
        """Return GPU ms a step, None if even a second of sleep is too short."""
        while self._sleep_ms < _LONGEST_SLEEP_MS:
            ms = self._try()
            if ms is not None:
                return ms
            self._sleep_ms *= 4
        return None

    def _launched(self) -> float:
        """Return the host's ms to queue the steps."""
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(self._steps):
            self._step()
        return (time.perf_counter() - start) * 1e3

    def _try(self) -> float | None:
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        torch.cuda._sleep(int(self._sleep_ms * _CYCLES_PER_MS))
        if self._before:
            self._before()
        begin.record()
        for _ in range(self._steps):
            self._step()
        caught_up = begin.query()
        end.record()
        torch.cuda.synchronize()
        return None if caught_up else begin.elapsed_time(end) / self._steps
