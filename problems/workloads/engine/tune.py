"""Which form of the fused products a model's matrices take on this device: timed once, at start."""

import statistics
from collections.abc import Callable

import torch
from workloads.engine.model import How, Model

FORMS: tuple[How, ...] = (
    (16, 512, 3, 4),
    (16, 512, 4, 4),
    (16, 256, 4, 4),
    (16, 256, 6, 4),
    (32, 256, 4, 4),
    (64, 128, 5, 1),
)
"""Reads in flight on a multiprocessor are 48 to 160 KiB; 4.4 TB/s for 0.8 µs are 27 KiB on each."""
REPEATS = 5


def fastest(model: Model, rows: int) -> dict[str, How]:
    """Return, by matrix, the form whose median is least for products with ``rows`` rows.

    All layers' matrices are read in turn, so that none is still in the L2 cache.
    """
    found = {}
    for name, run in model.products(rows).items():
        medians = {}
        for form in FORMS:
            run(form)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                run(form)
            medians[form] = replay_ms(graph.replay)
        found[name] = min(medians, key=medians.__getitem__)
    return found


def replay_ms(replay: Callable[[], None]) -> float:
    """Return the device's ms of a replay, in the median."""
    times = []
    replay()
    for _ in range(REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)
