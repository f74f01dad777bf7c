"""Wall time of a step beside that of another configuration, alternating in one process."""

import math
import random
import time
from collections.abc import Callable

Run = Callable[[], object]
_SETTLE_S, _MEASURE_S = 0.2, 0.3
_FIRST = 3


def in_turns(step: Run, against: Run, turns: int, synchronize: Run) -> list[tuple[float, float]]:
    """Return the seconds of a step and of a step of ``against``, a pair a turn.

    In each turn both run, in random order: for ``_SETTLE_S`` that do not count, then for
    ``_MEASURE_S``. Under a power cap the clock follows the load, so that each is timed at the clock
    of its own load and not at that of the other.
    """

    def seconds(run: Run, count: int) -> float:
        synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            run()
        synchronize()
        return (time.perf_counter() - begin) / count

    once = {run: seconds(run, _FIRST) for run in (step, against)}

    def settled(run: Run) -> float:
        seconds(run, math.ceil(_SETTLE_S / once[run]))
        return seconds(run, math.ceil(_MEASURE_S / once[run]))

    found = []
    for _ in range(turns):
        taken = {run: settled(run) for run in random.sample((step, against), 2)}
        found.append((taken[step], taken[against]))
    return found
