"""What NVML says of the GPU while a batch runs, where its Python package is installed."""

import math
import time
from collections.abc import Callable
from typing import Any

LONG_S = 0.2
"""From this length on a batch's power is told by the energy counter, which ticks every 0.1 s."""
_PERIOD_S = 0.005


class Monitor:
    """Clock and power of the device that torch uses; NaN without the package or the permission."""

    def __init__(self) -> None:
        self._nvml: Any = None
        try:
            import pynvml

            pynvml.nvmlInit()
            self._device = _handle(pynvml)
            self._nvml = pynvml
        except Exception:  # no package, no driver, no permission: the times stand without it
            return

    def clock(self) -> float:
        """Return the SM clock at this moment, in MHz."""
        return self._asked("nvmlDeviceGetClockInfo", 1)  # NVML_CLOCK_SM

    def joules(self) -> float:
        """Return the energy that the board has taken since the driver was loaded."""
        return self._asked("nvmlDeviceGetTotalEnergyConsumption") / 1e3

    def watch(self, done: Callable[[], bool]) -> tuple[float, float]:
        """Return mean clock in MHz and mean power in W until ``done``; NaN of too short a time."""
        begin, energy = time.perf_counter(), self.joules()
        seen = [self.clock()]
        while not done():
            time.sleep(_PERIOD_S)
            clock = self.clock()
            if not done():  # afterwards the GPU rests
                seen.append(clock)
        seconds = time.perf_counter() - begin
        power = (self.joules() - energy) / seconds if seconds >= LONG_S else math.nan
        return sum(seen) / len(seen), power

    def _asked(self, query: str, *arguments: int) -> float:
        if self._nvml is None:
            return math.nan
        try:
            return float(getattr(self._nvml, query)(self._device, *arguments))
        except Exception:  # this GPU or driver refuses it
            return math.nan


def _handle(nvml: Any) -> Any:
    """Return NVML's handle of torch's current device, which it may number otherwise."""
    import torch

    uuid = str(getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", ""))
    try:
        return nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid.removeprefix('GPU-')}")
    except nvml.NVMLError:
        return nvml.nvmlDeviceGetHandleByIndex(0)
