"""Workers that decode and process images on the CPU: how many threads each may use."""

import os
import random
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import torch

from harness.probe.cell import Cell

CONTENDERS = {
    "alone": ("none", "all"),
    "processes-all": ("process", "all"),
    "processes-share": ("process", "share"),
    "processes-one": ("process", "one"),
    "threads-all": ("thread", "all"),
    "threads-one": ("thread", "one"),
}
"""The kind of workers, and how many of the cores torch uses in each: all, its share, or one."""
_PREPARERS: dict[str, Any] = {}
"""One a process: a worker makes it with its first image."""


def run(cell: Cell) -> None:
    """Sample the images a second of each contender, in turn."""
    import loads

    params = cell.params
    jpegs = [ask.jpegs for ask in loads.asks(params)] * params["repeats"]
    cores = len(os.sched_getaffinity(0))
    cell.fact("cores", cores)
    count = params["workers"]
    limits = {"all": cores, "share": max(1, cores // count), "one": 1}
    with _pools(count) as pools:
        with cell.phase("warm-up"):
            for name in CONTENDERS:
                _rate(pools, params, name, limits, jpegs)
        found: dict[str, list[float]] = {name: [] for name in CONTENDERS}
        with cell.exclusively():
            for _ in range(params["turns"]):
                for name in random.sample(list(found), len(found)):
                    found[name].append(_rate(pools, params, name, limits, jpegs))
    for name, values in found.items():
        cell.sample(name, "images_per_s", "images/s", values)


class _pools:  # noqa: N801 - read as a word of its "with"
    """Processes and threads that live as long as the contenders are measured."""

    def __init__(self, count: int) -> None:
        self._kinds: dict[str, Executor] = {
            "process": ProcessPoolExecutor(count, mp_context=get_context("spawn")),
            "thread": ThreadPoolExecutor(count),
            "none": ThreadPoolExecutor(1),
        }

    def __enter__(self) -> dict[str, Executor]:
        return self._kinds

    def __exit__(self, *_: object) -> None:
        for pool in self._kinds.values():
            pool.shutdown()


def _rate(
    pools: dict[str, Executor],
    params: dict[str, Any],
    name: str,
    limits: dict[str, int],
    jpegs: list[list[bytes]],
) -> float:
    """Return the images a second of a contender: its kind of workers, and threads of each."""
    kind, threads = CONTENDERS[name]
    work = partial(_processed, limits[threads], params["longest_edge"])
    begun = time.perf_counter()
    done = list(pools[kind].map(work, jpegs))
    return len(done) / (time.perf_counter() - begun)


def _processed(threads: int, longest_edge: int, jpegs: list[bytes]) -> int:
    """Decode and process an image with so many threads of torch; return its patches."""
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    if "made" not in _PREPARERS:
        import with_torchvision

        with_torchvision.load()
        from preparing import Preparer

        _PREPARERS["made"] = Preparer("qwen", "torch", longest_edge, 0)
    from preparing import decoded

    made = _PREPARERS["made"](decoded(jpegs), "cpu")
    return len(made.pixels)
