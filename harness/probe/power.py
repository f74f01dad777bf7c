"""Clock and power of the GPU while a batch runs, from NVML's C interface."""

import ctypes
import math
import time
from collections.abc import Callable

LONG_S = 0.2
"""From this length on the energy counter, which ticks every 0.1 s or so, gives a batch's power."""
_PERIOD_S = 0.005
_CLOCK_SM = 1  # NVML_CLOCK_SM of nvml.h


class Monitor:
    """Clock and power of the device that torch uses; NaN without NVML or without the permission."""

    def __init__(self) -> None:
        self._nvml: ctypes.CDLL | None = None
        self._device = ctypes.c_void_p()
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:  # no driver: the times stand without it
            return
        if nvml.nvmlInit_v2() == 0 and self._open(nvml):
            self._nvml = nvml

    def clock(self) -> float:
        """Return the SM clock at this moment, in MHz."""
        return self._read("nvmlDeviceGetClockInfo", ctypes.c_uint(), ctypes.c_int(_CLOCK_SM))

    def joules(self) -> float:
        """Return the energy that the board has taken since the driver was loaded."""
        return self._read("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong()) / 1e3

    def limit(self) -> float:
        """Return the power in W that the board is held to."""
        return self._read("nvmlDeviceGetEnforcedPowerLimit", ctypes.c_uint()) / 1e3

    def watch(self, done: Callable[[], bool], period_s: float = _PERIOD_S) -> tuple[float, float]:
        """Return mean clock in MHz and mean power in W until ``done``, looked at every period.

        Power is energy over time from the first tick of the energy counter to the last. It is NaN
        where these are less than 0.2 s apart.
        """
        clocks, ticks = [self.clock()], []
        energy = self.joules()
        while not done():
            time.sleep(period_s)
            clock, joules = self.clock(), self.joules()
            if not done():  # afterwards the GPU rests
                clocks.append(clock)
                if joules > energy:
                    ticks.append((time.perf_counter(), joules))
                    energy = joules
        return sum(clocks) / len(clocks), _power(ticks)

    def _open(self, nvml: ctypes.CDLL) -> bool:
        """Find torch's current device, which NVML may number otherwise."""
        import torch

        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        uuid = f"GPU-{str(getattr(properties, 'uuid', '')).removeprefix('GPU-')}"
        device = ctypes.byref(self._device)
        if nvml.nvmlDeviceGetHandleByUUID(ctypes.c_char_p(uuid.encode()), device) == 0:
            return True
        return bool(nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(0), device) == 0)

    def _read(
        self, query: str, value: ctypes.c_uint | ctypes.c_ulonglong, *arguments: ctypes.c_int
    ) -> float:
        """Return the number that a query writes into ``value``, NaN if GPU or driver refuses it."""
        if self._nvml is None:
            return math.nan
        status = getattr(self._nvml, query)(self._device, *arguments, ctypes.byref(value))
        return math.nan if status else float(value.value)


def _power(ticks: list[tuple[float, float]]) -> float:
    """Return the mean power in W between the first and the last of ticks in s and J."""
    if not ticks or ticks[-1][0] - ticks[0][0] < LONG_S:
        return math.nan
    (begin, first), (end, last) = ticks[0], ticks[-1]
    return (last - first) / (end - begin)
