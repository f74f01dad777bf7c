"""Unprofiled times: host and GPU time a step, many times."""

from collections.abc import Callable

from harness.probe import timing
from harness.probe.hooks.hook import Hook


class TimingHook(Hook):
    """Times steps until the series is long enough."""

    def measure(self, name: str, step: Callable[[], object]) -> None:
        """Keep a series of samples of each clock."""
        with self.cell.exclusively(name):
            all_series = timing.series(step, self.cell.settings, self.cell.device)
        for series in all_series:
            self.cell.sampled(name, series)
