"""What is read of the GPU while a batch runs, with NVML played; nothing where there is none."""

import math
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


class Played(ModuleType):
    """NVML of a GPU at 1900 MHz that rests at 345 and takes 600 W."""

    NVMLError = OSError

    def __init__(self, clock: SimpleNamespace) -> None:
        super().__init__("pynvml")
        self._at = clock

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        assert uuid == "GPU-1-2"
        return uuid

    def nvmlDeviceGetClockInfo(self, _device: str, which: int) -> int:  # noqa: N802
        assert which == 1
        return 1900 if self._at.now < self._at.end else 345

    def nvmlDeviceGetTotalEnergyConsumption(self, _device: str) -> float:  # noqa: N802
        return 600e3 * float(self._at.now)


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now=0.0, end=0.5)


@pytest.fixture
def nvml(
    module: Callable[[str], ModuleType], clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    loaded = module("nvml")

    def sleep(seconds: float) -> None:
        clock.now += seconds

    time = SimpleNamespace(perf_counter=lambda: clock.now, sleep=sleep)
    monkeypatch.setattr(loaded, "time", time)
    cuda = SimpleNamespace(
        current_device=lambda: 0, get_device_properties=lambda _: SimpleNamespace(uuid="1-2")
    )
    torch: Any = ModuleType("torch")
    torch.cuda = cuda
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "pynvml", Played(clock))
    return loaded


def test_clock_and_power_of_a_long_batch(nvml: ModuleType, clock: SimpleNamespace) -> None:
    mhz, watt = nvml.Monitor().watch(lambda: clock.now >= clock.end)
    assert mhz == 1900  # not what was read when it had ended
    assert watt == pytest.approx(600)


def test_a_short_batch_has_a_clock_only(nvml: ModuleType, clock: SimpleNamespace) -> None:
    clock.end = 0.012
    mhz, watt = nvml.Monitor().watch(lambda: clock.now >= clock.end)
    assert mhz == 1900
    assert math.isnan(watt)


def test_without_the_package_nothing_is_known(
    nvml: ModuleType, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    mhz, watt = nvml.Monitor().watch(lambda: clock.now >= clock.end)
    assert math.isnan(mhz)
    assert math.isnan(watt)


def test_what_a_driver_refuses_is_not_known(
    nvml: ModuleType, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> float:
        raise OSError("not supported")

    monkeypatch.setattr(Played, "nvmlDeviceGetTotalEnergyConsumption", refuse)
    mhz, watt = nvml.Monitor().watch(lambda: clock.now >= clock.end)
    assert mhz == 1900
    assert math.isnan(watt)
