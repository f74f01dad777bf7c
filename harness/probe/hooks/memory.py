"""The allocator's history of the whole process, with the measured steps as a phase of it."""

from collections.abc import Callable
from typing import Any

from harness.probe import memory
from harness.probe.hooks.hook import Hook


class MemoryHook(Hook):
    """Records every allocation from before the weights are loaded."""

    def begin(self) -> None:
        """Begin the history."""
        memory.start(self.cell.device)

    def end_phase(self, name: str) -> None:
        """Note the bytes that driver and allocator hold as the phase ends."""
        memory.mark(name, self.cell.device)

    def measure(self, name: str, step: Callable[[], object]) -> None:
        """Run the steps as one phase."""
        steps = self.cell.declare(name)
        with self.cell.phase(name):
            latencies = [self.cell.latency(step) for _ in range(steps)]
        self.cell.sample(name, "latency", "ms", latencies)

    def finish(self, phases: list[dict[str, Any]]) -> None:
        """Write the history."""
        memory.finish(self.cell.out / memory.SNAPSHOT, self.cell.device, phases)
