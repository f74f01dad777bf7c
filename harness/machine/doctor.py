"""Checks of what a run needs, as data: the state of each thing, and its remedy."""

import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.evidence.kind import Kind
from harness.evidence.kinds import KINDS
from harness.machine.monitor import GpuMonitor, summary
from harness.machine.target import Target, Tool, has_bindings

_DISK_BYTES = 5 << 30
_MONITORED_S = 0.6
_HARMLESS = {"power cap", "sync boost"}  # a loaded GPU's own governor


@dataclass(frozen=True)
class HealthCheck:
    """The outcome of a check; ``ok`` is None where it does not apply here."""

    name: str
    ok: bool | None
    found: str
    remedy: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return asdict(self)


_NO_BINDINGS = HealthCheck(
    "pynvml",
    False,
    "not installed: harness run finds the GPU by it",
    "in a clone: pip install '.[run]'",
)


def checks(target: Target, monitor: GpuMonitor) -> list[HealthCheck]:
    """Return every check of a machine, in the order in which things fail.

    Without NVML's bindings nothing is said of a GPU and its profilers, as none was looked for.
    ``monitor`` has not started yet; it samples the GPU for 0.6 s.
    """
    if not has_bindings():
        return [_python(), _NO_BINDINGS, _disk(Path.cwd())]
    return [
        _python(),
        _gpu(target),
        *_profilers(target),
        _counters(target),
        _state(target, monitor),
        _disk(Path.cwd()),
    ]


def _python() -> HealthCheck:
    version = sys.version.split()[0]
    return HealthCheck("Python", sys.version_info >= (3, 11), version, "needs 3.11 or later")


def _gpu(target: Target) -> HealthCheck:
    if target.gpu is None:
        return HealthCheck("GPU", None, "none: problems run on the CPU, at small shapes")
    gpu = target.gpu
    text = f"{gpu.name}, driver {gpu.driver}, CUDA {gpu.cuda}, {gpu.memory_bytes / 2**30:.0f} GiB"
    return HealthCheck("GPU", True, text)


def _profilers(target: Target) -> Iterator[HealthCheck]:
    for kind in KINDS.values():
        if kind.tool:
            tool = target.tools[kind.tool]
            yield _profiler(kind.tool, tool, target)
            yield from _export(kind, tool, target)


def _profiler(name: str, tool: Tool | None, target: Target) -> HealthCheck:
    if target.gpu is None:
        return HealthCheck(
            name, None, tool.version if tool else "not installed; not needed on a CPU"
        )
    if tool is None:
        return HealthCheck(name, False, "not found", f"install Nsight and put {name} on PATH")
    # A profiler older than the driver's CUDA misreads it: CUDA 13 came with the 2025.3 tools.
    old = int(target.gpu.cuda.split(".")[0]) >= 13 and _release(tool) < (2025, 3)
    remedy = f"the driver is for CUDA {target.gpu.cuda}: install {name} 2025.3 or later"
    return HealthCheck(name, not old, f"{tool.version} ({tool.path})", remedy if old else "")


def _release(tool: Tool) -> tuple[int, int]:
    year, release, *_ = tool.version.split(".")
    return int(year), int(release)


def _export(kind: Kind, tool: Tool | None, target: Target) -> Iterator[HealthCheck]:
    """Yield whether the profiler's own export works, if the kind needs one."""
    if not any(each.export for each in kind.formats):
        return
    name = f"{kind.tool} export"
    if target.gpu is None or tool is None:
        yield HealthCheck(name, None, "not needed here")
        return
    finding, remedy = kind.export_check(tool.path)
    yield HealthCheck(name, not remedy, finding, remedy)


def _counters(target: Target) -> HealthCheck:
    if target.gpu is None:
        return HealthCheck("hardware counters", None, "no GPU")
    if target.counters_restricted is None:
        return HealthCheck("hardware counters", None, "/proc/driver/nvidia/params is not readable")
    remedy = (
        "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or give ncu CAP_PERFMON "
        "(driver 565 and later) or CAP_SYS_ADMIN"
    )
    restricted = target.counters_restricted
    readers = "for administrators only" if restricted else "for every user"
    return HealthCheck("hardware counters", not restricted, readers, remedy if restricted else "")


def _state(target: Target, monitor: GpuMonitor) -> HealthCheck:
    if target.gpu is None:
        return HealthCheck("GPU state", None, "no GPU")
    with monitor:
        time.sleep(_MONITORED_S)
    state = summary(monitor.samples)
    labels = {"sm_mhz": "SM {:.0f} MHz", "memory_mhz": "memory {:.0f} MHz", "power_w": "{:.0f} W"}
    facts = [label.format(state[key]["median"]) for key, label in labels.items() if key in state]
    held = sorted(reason for reason in state["throttle_reasons"] if reason not in _HARMLESS)
    facts.append(f"held back by {', '.join(held) or 'nothing'}")
    remedy = "let it cool, and see nvidia-smi -q -d PERFORMANCE" if held else ""
    if state["others"]:
        facts.append(f"on the GPU, too: {', '.join(state['others'])}")
        remedy = remedy or "end them: cells measured beside them count as doubtful"
    return HealthCheck("GPU state", not held and not state["others"], ", ".join(facts), remedy)


def _disk(folder: Path) -> HealthCheck:
    free = shutil.disk_usage(folder).free
    text = f"{free / 2**30:.0f} GiB free under {folder}"
    return HealthCheck(
        "disk", free >= _DISK_BYTES, text, "" if free >= _DISK_BYTES else "free 5 GiB"
    )
