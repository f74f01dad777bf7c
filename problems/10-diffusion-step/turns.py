"""Wall times of several steps, alternating in one process."""

import random
import time
from collections.abc import Callable, Mapping

Run = Callable[[], object]
Found = dict[str, dict[str, list[float]]]
"""Contender to metric to its values."""


def alternated(steps: Mapping[str, Run], turns: int, synchronize: Run) -> Found:
    """Return ``step_ms`` and ``host_ms`` of each, a value for each turn, in random order.

    step_ms: from the call until the device is idle. host_ms: until the call returns, which a
    device behind by a full launch queue holds up.
    """
    found: Found = {name: {"step_ms": [], "host_ms": []} for name in steps}
    for step in steps.values():
        step()
    for _ in range(turns):
        for name in random.sample(list(steps), len(steps)):
            synchronize()
            begun = time.perf_counter()
            steps[name]()
            returned = time.perf_counter()
            synchronize()
            found[name]["host_ms"].append((returned - begun) * 1e3)
            found[name]["step_ms"].append((time.perf_counter() - begun) * 1e3)
    return found
