"""Time per step, measured without a profiler.

Two clocks, because at small batch they differ. Host time is what a caller waits for: from before
the first launch until the device is idle. GPU time leaves the host out: the steps are queued behind
a sleeping kernel, so that when it ends they run back to back (nvbench's blocking kernel).
"""

import time
from collections.abc import Callable

import torch

_LONGEST_SLEEP_MS = 1000.0
_CYCLES_PER_MS = 2_000_000  # about 2 GHz: too long a sleep costs time, too short is noticed


def sample(
    step: Callable[[], object], steps: int, samples: int, device: str
) -> list[tuple[str, list[float]]]:
    """Return ``[("wall_time", ms…), ("gpu_time", ms…)]``, each value the mean over ``steps`` steps.

    GPU time is absent on a CPU, and where the host cannot queue the steps ahead of the device.
    """
    wall = [_wall(step, steps, device) for _ in range(samples)]
    measured = [("wall_time", wall)]
    if device == "cuda":
        gpu: list[float] = []
        sleep_ms = 2 * wall[0] * steps + 1
        while not gpu and sleep_ms < _LONGEST_SLEEP_MS:
            gpu, sleep_ms = _queued(step, steps, samples, sleep_ms), 4 * sleep_ms
        if gpu:
            measured.append(("gpu_time", gpu))
    return measured


def _wall(step: Callable[[], object], steps: int, device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / steps


def _queued(step: Callable[[], object], steps: int, samples: int, sleep_ms: float) -> list[float]:
    """Return GPU ms per step, or nothing if the device caught up with the host in any sample."""
    values = []
    for _ in range(samples):
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        torch.cuda._sleep(int(sleep_ms * _CYCLES_PER_MS))
        begin.record()
        for _ in range(steps):
            step()
        caught_up = begin.query()
        end.record()
        torch.cuda.synchronize()
        if caught_up:
            return []
        values.append(begin.elapsed_time(end) / steps)
    return values
