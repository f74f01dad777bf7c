"""Traces of torch.profiler over the measured steps."""

import contextlib

from harness.probe import profiler_range
from harness.probe.hooks.hook import Hook


class TorchProfiler(Hook):
    """Records operators and, on a GPU, its work, and writes the trace."""

    def opened(self) -> contextlib.AbstractContextManager[None]:
        """Return the range that torch.profiler records."""
        return profiler_range.traced(self.cell.device, self.cell.out)
