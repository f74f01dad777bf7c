"""Wall time of a step over a baseline's, where both alternate in one process."""

import math
import random
import time
from collections.abc import Callable

BATCH_S = 0.03
"""How long the steps last, at least, that are timed together."""


def wall_ratios(
    step: Callable[[], object],
    baseline: Callable[[], object],
    turns: int,
    synchronize: Callable[[], None],
) -> list[float]:
    """Return the wall time of a step over that of ``baseline``, a value a turn.

    In each turn both run, in random order, as many steps as the baseline does in ``BATCH_S``.
    """

    def seconds(run: Callable[[], object], steps: int) -> float:
        synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            run()
        synchronize()
        return time.perf_counter() - begin

    for run in (step, baseline):
        seconds(run, 3)  # bind, load, record a CUDA graph
    steps = math.ceil(BATCH_S / seconds(baseline, 1))
    ratios = []
    for _ in range(turns):
        taken = {run: seconds(run, steps) for run in random.sample((step, baseline), 2)}
        ratios.append(taken[step] / taken[baseline])
    return ratios
