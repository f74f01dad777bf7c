"""Traces of torch.profiler over the measured steps."""

from typing import Any

from harness.probe import profiler_range
from harness.probe.hooks.hook import Hook, Recording


class TorchProfiler(Hook):
    """Records operators and, on a GPU, its work, and writes the trace."""

    def __init__(self, cell: Recording) -> None:
        super().__init__(cell)
        self._recorded: Any = None

    def opened(self) -> Any:
        """Return the range that torch.profiler records."""
        asked = {key: self.cell.settings.get(key, False) for key in ("stacks", "shapes")}
        self._recorded = profiler_range.profiler(self.cell.device, **asked)
        return self._recorded

    def finish(self, phases: list[dict[str, Any]]) -> None:  # noqa: ARG002 - the hook's signature
        """Write the trace, which takes seconds, when others have the GPU."""
        if self._recorded is not None:
            self._recorded.export_chrome_trace(str(self.cell.out / profiler_range.TRACE))
