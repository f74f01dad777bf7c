"""What a machine is: asked of NVML and the tools, never assumed."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.machine import doctor, target
from harness.machine.monitor import GpuMonitor, summary
from harness.machine.target import Tool


class NVMLError(Exception):
    """As pynvml raises."""


class Nvml(SimpleNamespace):
    """A machine with two GPUs, as far as NVML tells."""

    NVMLError = NVMLError

    def __init__(self, present: bool = True) -> None:
        super().__init__()
        self._present = present

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's name
        if not self._present:
            raise NVMLError("driver not loaded")

    def __getattr__(self, name: str) -> Any:
        answers = {
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetHandleByUUID": lambda _uuid: 0,
            "nvmlDeviceGetIndex": lambda handle: handle,
            "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}{handle}",
            "nvmlDeviceGetName": lambda _handle: b"NVIDIA H200",
            "nvmlDeviceGetMemoryInfo": lambda _handle: SimpleNamespace(total=150 << 30),
            "nvmlDeviceGetCudaComputeCapability": lambda _handle: (9, 0),
            "nvmlSystemGetDriverVersion": lambda: "580.1",
            "nvmlSystemGetCudaDriverVersion": lambda: 13000,
            "nvmlDeviceGetClockInfo": lambda _handle, kind: {1: 1980, 2: 3201}[kind],
            "nvmlDeviceGetPowerUsage": lambda _handle: 700_000,
            "nvmlDeviceGetTemperature": self._refused,
            "nvmlDeviceGetCurrentClocksEventReasons": lambda _handle: 0x1 | 0x4,
            "nvmlDeviceGetComputeRunningProcesses": lambda _handle: [
                SimpleNamespace(pid=os.getpid())
            ],
        }
        return answers[name]

    def _refused(self, *_: object) -> None:
        raise NVMLError("not supported")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    fake = Nvml()
    monkeypatch.setitem(__import__("sys").modules, "pynvml", fake)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return fake


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        (None, ["GPU-00", "GPU-11"]),
        ("1", ["GPU-11"]),
        ("1, 0", ["GPU-11", "GPU-00"]),
        ("GPU-11", ["GPU-11"]),
        ("0,7,1", ["GPU-00"]),  # CUDA shows what stands before the first unknown name
        ("", []),
    ],
)
def test_the_gpus_are_those_that_cuda_would_show(
    visible: str | None, uuids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    detected = target.detect()
    assert [gpu.uuid for gpu in detected.gpus] == uuids
    assert detected.gpu == (detected.gpus[0] if uuids else None)
    assert detected.slug == ("nvidia-h200" if uuids else "cpu")


def test_without_a_driver_there_is_no_gpu_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", Nvml(present=False))
    assert target.detect().gpu is None
    assert target.detect().device == "cpu"


@pytest.mark.usefixtures("machine")
def test_the_monitor_sees_clocks_and_leaves_out_what_is_refused() -> None:
    with GpuMonitor("GPU-00"):
        pass
    with GpuMonitor("GPU-00") as monitor:
        monitor._stop.wait(0.3)
    state = summary(monitor.samples)
    assert state["sm_mhz"] == {"min": 1980, "median": 1980, "max": 1980}
    assert state["power_w"]["max"] == 700
    assert "temperature_c" not in state
    assert set(state["throttle_reasons"]) == {"power cap"}
    assert [name.split(" (")[1] for name in state["others"]] == [f"process {os.getpid()})"]


def test_the_counter_permission_is_read_from_the_driver(tmp_path: Path) -> None:
    params = tmp_path / "params"
    params.write_text("Foo: 3\nRmProfilingAdminOnly: 1\n")
    assert target._restricted(params) is True
    params.write_text("RmProfilingAdminOnly: 0\n")
    assert target._restricted(params) is False
    assert target._restricted(tmp_path / "absent") is None


@pytest.mark.usefixtures("machine")
def test_a_profiler_older_than_the_driver_is_told_with_its_remedy() -> None:
    from dataclasses import replace

    here = replace(
        target.detect(),
        tools={"nsys": Tool("/bin/nsys", "2024.6.2"), "ncu": None},
        counters_restricted=True,
    )
    checks = {check.name: check for check in doctor.checks(here, GpuMonitor(None))}
    assert checks["nsys"].ok is False
    assert "2025.3 or later" in checks["nsys"].remedy
    assert checks["hardware counters"].ok is False
    assert "NVreg_RestrictProfilingToAdminUsers=0" in checks["hardware counters"].remedy
