"""How fast each GPU does its own work: the time of a step without exchange, and the SM clock."""

from collections.abc import Callable

import torch
from driver import Kernel
from torch import Tensor

from harness.probe.sm_clock import between

_STEPS = 20
_BLOCKS_PER_SM = 4
"""So many small blocks reach every multiprocessor, as none has room for all."""


class Straggler:
    """Times steps on this rank's GPU alone."""

    def __init__(self, step: Callable[[], Tensor]) -> None:
        self._step = step
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self._sms = properties.multi_processor_count
        self._read_clocks = Kernel("link", "read_clocks")

    def measured(self) -> tuple[float, float]:
        """Return ms a step and the mean SM clock in MHz over ``_STEPS`` steps."""
        readings = [self._blank() for _ in range(2)]
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._step()
        self._mark(readings[0])
        begin.record()
        for _ in range(_STEPS):
            self._step()
        end.record()
        self._mark(readings[1])
        end.synchronize()
        torch.cuda.synchronize()
        first, last = (reading.tolist() for reading in readings)
        return begin.elapsed_time(end) / _STEPS, between(first, last)

    def _blank(self) -> Tensor:
        return torch.zeros(2 * self._sms, 2, dtype=torch.int64, device="cuda")

    def _mark(self, reading: Tensor) -> None:
        self._read_clocks((_BLOCKS_PER_SM * self._sms,), 32, [reading])
