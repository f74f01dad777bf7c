"""What a hook can do; the base is for profilers that record a range of the CUDA profiler API."""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.probe import profiler_range

if TYPE_CHECKING:
    from harness.probe.cell import Cell


class Hook:
    """Records the steps inside one range, each step in a range of its own."""

    def __init__(self, cell: "Cell") -> None:
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
