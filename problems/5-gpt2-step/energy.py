"""Clock, power and energy of steps that follow each other, from NVML."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from harness.probe.power import Monitor

Run = Callable[[], object]
_STEPS = 5
_PERIOD_S = 0.05
"""Between two looks at the clock, which take the interpreter from a step that the host decides."""
_SECONDS = 1.2
"""The energy counter ticks every 0.1 s or so; power is taken between its first and last tick."""


def watched(step: Run, synchronize: Run) -> tuple[float, float, float]:
    """Return mean clock in MHz and mean power over the limit, and J per step; NaN without NVML.

    Five steps are in flight at a time.
    """
    monitor, done = Monitor(), Event()
    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(monitor.watch, done.is_set, _PERIOD_S)
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < _SECONDS:
            for _ in range(_STEPS):
                step()
            synchronize()
            count += _STEPS
        seconds = (time.perf_counter() - begin) / count
        done.set()
        clock, power = watching.result()
    return clock, power / monitor.limit(), power * seconds
