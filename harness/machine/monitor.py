"""Watches the GPU while a cell runs: clocks, power, temperature, their limits, and other users."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

from harness.ground import process
from harness.machine import target

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
class GpuSample:
    """The GPU's state at a time in seconds since the epoch; figures that NVML refuses are absent.

    ``reasons`` are why its clocks are lowered. ``others`` are compute processes of no cell of the
    run, None where NVML does not list them.
    """

    at: float
    figures: dict[str, float]
    reasons: tuple[str, ...]
    others: tuple[str, ...] | None


class GpuMonitor:
    """Samples one GPU twenty times a second between ``__enter__`` and ``__exit__``; sets nothing.

    Without a GPU there are no samples. ``token`` is that of the run whose processes are no others.
    """

    def __init__(self, uuid: str | None, token: str | None = None) -> None:
        self._uuid = uuid
        self._token = token
        self.samples: list[GpuSample] = []
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

    def during(self, windows: Windows) -> list[GpuSample]:
        """Return the samples within ``windows``; all samples if there are no windows."""
        if not windows:
            return self.samples
        return [
            sample
            for sample in self.samples
            if any(start <= sample.at <= end for start, end, *_ in windows)
        ]

    def _watch(self) -> None:
        with target.nvml() as library:
            if library is None:
                return
            try:
                handle = library.nvmlDeviceGetHandleByUUID(self._uuid)
            except library.NVMLError:
                return  # no samples: the cell counts as not watched
            queries: dict[str, Callable[[], float]] = {
                "sm_mhz": lambda: library.nvmlDeviceGetClockInfo(handle, 1),
                "memory_mhz": lambda: library.nvmlDeviceGetClockInfo(handle, 2),
                "power_w": lambda: library.nvmlDeviceGetPowerUsage(handle) / 1000,
                "temperature_c": lambda: library.nvmlDeviceGetTemperature(handle, 0),
            }
            names_by_pid: dict[int, str | None] = {}
            while not self._stop.is_set():
                at = time.time()
                answers = {name: answer(library, query) for name, query in queries.items()}
                figures = {name: value for name, value in answers.items() if value is not None}
                others = _others(library, handle, self._token, names_by_pid)
                self.samples.append(GpuSample(at, figures, _reasons(library, handle), others))
                self._stop.wait(_PERIOD_S)


def summary(samples: Sequence[GpuSample]) -> dict[str, Any]:
    """Return min, median and max of each figure, how often a reason held, and foreign processes."""
    values = {
        name: [sample.figures[name] for sample in samples if name in sample.figures]
        for name in sorted({name for sample in samples for name in sample.figures})
    }
    figures = {
        name: {"min": min(series), "median": median(series), "max": max(series)}
        for name, series in values.items()
    }
    reasons = Counter(
        reason for sample in samples for reason in sample.reasons if reason not in _BENIGN
    )
    others = sorted({other for sample in samples for other in sample.others or ()})
    return {
        "samples": len(samples),
        **figures,
        "throttle_reasons": dict(reasons),
        "others": others,
    }


def answer(library: Any, query: Callable[[], float]) -> float | None:
    """Return the answer of a query, None where this GPU or driver refuses it."""
    try:
        return float(query())
    except library.NVMLError:
        return None


def _reasons(library: Any, handle: Any) -> tuple[str, ...]:
    bits = answer(library, lambda: library.nvmlDeviceGetCurrentClocksEventReasons(handle))
    return tuple(name for bit, name in _REASONS.items() if int(bits or 0) & bit)


def _others(
    library: Any, handle: Any, token: str | None, names_by_pid: dict[int, str | None]
) -> tuple[str, ...] | None:
    """Return the compute processes on the GPU without this run's token; None if NVML refuses.

    ``names_by_pid`` keeps each process's name by its number, None for a process of the run.
    """
    try:
        running = library.nvmlDeviceGetComputeRunningProcesses(handle)
    except library.NVMLError:
        return None
    names = []
    for user in running:
        if user.pid not in names_by_pid:
            names_by_pid[user.pid] = _foreign(Path(f"/proc/{user.pid}"), token)
        names.append(names_by_pid[user.pid])
    return tuple(sorted(name for name in names if name))


def _foreign(entry: Path, token: str | None) -> str | None:
    """Return name and number of a process without this run's token; None with it.

    NVML numbers processes as the host does: inside a container that number may not exist.
    """
    try:
        if f"{process.RUN}={token}".encode() in (entry / "environ").read_bytes().split(b"\0"):
            return None
    except FileNotFoundError:
        return None
    except OSError:
        pass  # of another user, so none of ours
    try:
        name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return f"{name} (process {entry.name})"
