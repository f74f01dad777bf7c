"""What a hook can do; the base is for profilers that record a range of the CUDA profiler API."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from harness.probe import profiler_range
from harness.probe.series import Series


class Recording(Protocol):
    """What a hook asks of the cell (harness.probe.cell) that it records."""

    device: str
    settings: dict[str, Any]
    out: Path

    def declare(self, name: str) -> int:
        """Return the number of steps of a region."""

    def phase(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Mark a stretch of the process."""

    def exclusively(self, name: str = "") -> contextlib.AbstractContextManager[None]:
        """Hold the device alone."""

    def latency(self, step: Callable[[], object]) -> float:
        """Run a step and return its time in ms."""

    def sample(self, name: str, metric: str, unit: str, values: list[float]) -> None:
        """Keep repeated measurements of a region."""

    def sampled(self, name: str, measured: Series) -> None:
        """Keep a series of a region."""


class Hook:
    """Records the steps inside one range, each step in a range of its own."""

    def __init__(self, cell: Recording) -> None:
        self.cell = cell

    def begin(self) -> None:
        """Prepare, before the workload loads anything."""

    def end_phase(self, name: str) -> None:
        """Note the state at the end of a phase."""

    def measure(self, name: str, step: Callable[[], object]) -> None:
        """Record the steps of a region and keep how long each took."""
        latencies = []
        with self.cell.exclusively(), self.opened():
            for number in range(self.cell.declare(name)):
                with profiler_range.marked(f"step:{name}", self.cell.device, number):
                    latencies.append(self.cell.latency(step))
        self.cell.sample(name, "latency", "ms", latencies)

    def opened(self) -> contextlib.AbstractContextManager[None]:
        """Return the range that the profiler records; everything before it stays out."""
        return profiler_range.cuda_range()

    def finish(self, phases: list[dict[str, Any]]) -> None:
        """Write the capture, with the phases (name, time_us) of the process."""
