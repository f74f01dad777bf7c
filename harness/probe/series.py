"""A series of samples: taken until its median is known well enough or a limit is met."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harness.probe import steady_state

LIMITS: dict[str, float] = {"samples": 200, "half_width": 0.005, "seconds": 2.0}
"""Most samples of a series, the relative half-width that is enough, most seconds it may take."""

_LEAST = 20  # samples, below which neither warm-up nor half-width means anything
_LEAST_S = 0.1  # of a series, so that the harness can look at the GPU meanwhile


def limits(settings: dict[str, Any]) -> dict[str, float]:
    """Return the limits that a cell's settings leave or replace."""
    return LIMITS | {key: settings[key] for key in LIMITS if key in settings}


@dataclass(frozen=True)
class Series:
    """Samples of one metric, in ms a step and in order, each sample the mean over ``steps`` steps.

    ``warmup`` of them at the start had not settled, and are left out of every statistic.
    """

    metric: str
    values: list[float]
    steps: int
    warmup: int
    half_width: float
    target: float
    stopped: str
    seconds: float

    def summary(self) -> dict[str, Any]:
        """Return the series' sampling as JSON-ready data; an unknown half-width is null."""
        is_bounded = math.isfinite(self.half_width)
        return {
            "metric": self.metric,
            "steps": self.steps,
            "taken": len(self.values),
            "warmup": self.warmup,
            "outliers": sum(steady_state.outliers(self.values)[self.warmup :]),
            "half_width": self.half_width if is_bounded else None,
            "target": self.target,
            "stopped": self.stopped,
            "seconds": round(self.seconds, 4),
        }

    def named(self, metric: str) -> "Series":
        """Return it under another name."""
        return replace(self, metric=metric)

    def rates(self, metric: str, amount: float) -> "Series":
        """Return ``amount`` over each time instead of the time, such as MB over ms for GB/s."""
        return replace(self, metric=metric, values=[amount / value for value in self.values])

    def marks(self) -> list[str]:
        """Return for each sample "warm-up", "outlier" (kept: the median bears it) or ""."""
        far = steady_state.outliers(self.values)
        return [
            "warm-up" if index < self.warmup else "outlier" if far[index] else ""
            for index in range(len(self.values))
        ]


def collect(
    metric: str, sample: Callable[[], float | None], steps: int, asked: dict[str, float]
) -> Series:
    """Take samples until the median is known to ``asked["half_width"]``, or another limit is met.

    A sample of None ends the series, without values.
    """
    values: list[float] = []
    start = time.perf_counter()
    while True:
        value = sample()
        if value is None:
            return Series(metric, [], steps, 0, math.inf, asked["half_width"], "no queue", 0.0)
        values.append(value)
        seconds = time.perf_counter() - start
        stopped = _stop(values, seconds, asked)
        if stopped:
            warm = steady_state.warm_up(values) if len(values) >= _LEAST else 0
            width = steady_state.half_width(values[warm:])
            target = asked["half_width"]
            return Series(metric, values, steps, warm, width, target, stopped, seconds)


def _stop(values: list[float], seconds: float, asked: dict[str, float]) -> str:
    """Return the limit that is met, empty if none is."""
    count = len(values)
    # Looked at now and then: a rule that looks at each sample stops at a lucky one.
    if count % _LEAST == 0 and seconds >= _LEAST_S:
        settled = values[steady_state.warm_up(values) :]
        if steady_state.half_width(settled) <= asked["half_width"]:
            return "half-width"
    if count >= asked["samples"]:
        return "samples"
    return "seconds" if seconds >= asked["seconds"] and count >= 3 else ""
