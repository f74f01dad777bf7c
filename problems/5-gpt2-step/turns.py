"""Wall time of a step over that of another configuration, alternating in one process."""

import random
import time
from collections.abc import Callable

Run = Callable[[], object]
_STEPS = 2


def wall_ratios(step: Run, against: Run, turns: int, synchronize: Run) -> list[float]:
    """Return the wall time of a step over that of ``against``, a value a turn.

    In each turn both run two steps, in random order. Under a power cap two processes may run at
    different clocks; steps of one turn find the same card.
    """

    def seconds(run: Run) -> float:
        synchronize()
        begin = time.perf_counter()
        for _ in range(_STEPS):
            run()
        synchronize()
        return time.perf_counter() - begin

    for run in (step, against):
        seconds(run)
    ratios = []
    for _ in range(turns):
        taken = {run: seconds(run) for run in random.sample((step, against), 2)}
        ratios.append(taken[step] / taken[against])
    return ratios
