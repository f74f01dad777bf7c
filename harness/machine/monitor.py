"""Watches the GPU while a cell runs: clocks, power, temperature, their limits, and other users."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

from harness.machine import target
from harness.probe.names import INPUT

_PERIOD_S = 0.05
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

Windows = Sequence[Sequence[Any]]
"""Stretches of time: start and end in seconds since the epoch, and the region measured in them."""


@dataclass(frozen=True)
class Look:
    """What NVML said at one time; a figure that it refused is not there.

    ``others`` are compute processes that are no cell's, None where they cannot be told.
    """

    at: float
    figures: dict[str, float]
    reasons: tuple[str, ...]
    others: tuple[str, ...] | None


class Monitor:
    """Looks at one GPU twenty times a second between ``__enter__`` and ``__exit__``; sets nothing.

    Without a GPU there are no looks.
    """

    def __init__(self, uuid: str | None) -> None:
        self._uuid = uuid
        self.looks: list[Look] = []
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

    def during(self, windows: Windows) -> list[Look]:
        """Return the looks within ``windows``, all of them if there are none."""
        if not windows:
            return self.looks
        return [
            look
            for look in self.looks
            if any(start <= look.at <= end for start, end, *_ in windows)
        ]

    def _watch(self) -> None:
        with target.nvml() as library:
            if library is None:
                return
            try:
                handle = library.nvmlDeviceGetHandleByUUID(self._uuid)
            except library.NVMLError:
                return  # no looks: the cell counts as not watched
            queries: dict[str, Callable[[], float]] = {
                "sm_mhz": lambda: library.nvmlDeviceGetClockInfo(handle, 1),
                "memory_mhz": lambda: library.nvmlDeviceGetClockInfo(handle, 2),
                "power_w": lambda: library.nvmlDeviceGetPowerUsage(handle) / 1000,
                "temperature_c": lambda: library.nvmlDeviceGetTemperature(handle, 0),
            }
            known: dict[int, str | None] = {}
            while not self._stop.is_set():
                at = time.time()
                figures = {name: asked(library, query) for name, query in queries.items()}
                told = {name: value for name, value in figures.items() if value is not None}
                others = _others(library, handle, known)
                self.looks.append(Look(at, told, _reasons(library, handle), others))
                self._stop.wait(_PERIOD_S)


def summary(looks: Sequence[Look]) -> dict[str, Any]:
    """Return min, median and max of each figure, how often a reason held, and foreign processes."""
    names = {name for look in looks for name in look.figures}
    seen = {name: [look.figures[name] for look in looks if name in look.figures] for name in names}
    figures = {
        name: {"min": min(seen[name]), "median": median(seen[name]), "max": max(seen[name])}
        for name in sorted(names)
    }
    held = Counter(reason for look in looks for reason in look.reasons if reason not in _BENIGN)
    others = sorted({other for look in looks for other in look.others or ()})
    return {"samples": len(looks), **figures, "throttle_reasons": dict(held), "others": others}


def asked(library: Any, query: Callable[[], float]) -> float | None:
    """Return what a query says, None where this GPU or driver refuses it."""
    try:
        return float(query())
    except library.NVMLError:
        return None


def _reasons(library: Any, handle: Any) -> tuple[str, ...]:
    held = asked(library, lambda: library.nvmlDeviceGetCurrentClocksEventReasons(handle))
    return tuple(name for bit, name in _REASONS.items() if int(held or 0) & bit)


def _others(library: Any, handle: Any, known: dict[int, str | None]) -> tuple[str, ...] | None:
    """Return the compute processes on the GPU that no harness started; None if NVML refuses.

    ``known`` keeps what was found of a process: its name, None if it is one of ours.
    """
    try:
        processes = [one.pid for one in library.nvmlDeviceGetComputeRunningProcesses(handle)]
    except library.NVMLError:
        return None
    for pid in processes:
        if pid not in known:
            known[pid] = _foreign(Path(f"/proc/{pid}"))
    found = [known[pid] for pid in processes]
    return tuple(sorted(name for name in found if name))


def _foreign(process: Path) -> str | None:
    """Return name and number of a process that is not a cell; None for a cell's.

    NVML numbers processes as the host does, so from inside a container there may be none such.
    """
    try:
        if f"{INPUT}=".encode() in (process / "environ").read_bytes():
            return None
    except FileNotFoundError:
        return None
    except OSError:
        pass  # of another user, so none of ours
    try:
        name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return f"{name} (process {process.name})"
