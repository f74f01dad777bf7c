"""Watches the GPU while a cell runs: clocks, power, temperature, and why clocks were held back."""

import threading
from collections.abc import Callable
from statistics import median
from typing import Any, Self

from harness import target

_PERIOD_S = 0.2
# NVML's names of clock event reasons (nvml.h, nvmlClocksEventReasons), by bit.
_REASONS = {
    0x1: "idle",
    0x2: "applications clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal slowdown (software)",
    0x40: "thermal slowdown (hardware)",
    0x80: "power brake",
    0x100: "display clocks",
}
_BENIGN = {"idle", "applications clocks", "display clocks"}


class Monitor:
    """Samples one GPU five times a second between ``__enter__`` and ``__exit__``; sets nothing.

    Without a GPU, or where NVML refuses a query, the summary simply lacks that figure.
    """

    def __init__(self, uuid: str | None) -> None:
        self._uuid = uuid
        self._values: dict[str, list[float]] = {}
        self._reasons: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if self._uuid:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._uuid:
            self._thread.join(timeout=5)

    def summary(self) -> dict[str, Any]:
        """Return min, median and max of each figure seen, and how often each reason held."""
        figures = {
            name: {"min": min(seen), "median": median(seen), "max": max(seen)}
            for name, seen in self._values.items()
        }
        held = {name: count for name, count in self._reasons.items() if name not in _BENIGN}
        samples = max((len(seen) for seen in self._values.values()), default=0)
        return {"samples": samples, **figures, "throttle_reasons": held}

    def _watch(self) -> None:
        with target.nvml() as library:
            if library is None:
                return
            handle = library.nvmlDeviceGetHandleByUUID(self._uuid)
            queries: dict[str, Callable[[], float]] = {
                "sm_mhz": lambda: library.nvmlDeviceGetClockInfo(handle, 1),
                "memory_mhz": lambda: library.nvmlDeviceGetClockInfo(handle, 2),
                "power_w": lambda: library.nvmlDeviceGetPowerUsage(handle) / 1000,
                "temperature_c": lambda: library.nvmlDeviceGetTemperature(handle, 0),
            }
            while not self._stop.is_set():
                for name, query in queries.items():
                    self._note(library, name, query)
                self._note_reasons(library, handle)
                self._stop.wait(_PERIOD_S)

    def _note(self, library: Any, name: str, query: Callable[[], float]) -> None:
        try:
            self._values.setdefault(name, []).append(query())
        except library.NVMLError:
            self._values.pop(name, None)

    def _note_reasons(self, library: Any, handle: Any) -> None:
        try:
            held = library.nvmlDeviceGetCurrentClocksEventReasons(handle)
        except library.NVMLError:
            return
        for bit, name in _REASONS.items():
            if held & bit:
                self._reasons[name] = self._reasons.get(name, 0) + 1
