"""What is read of the GPU while a batch runs, with NVML played; NaN where it is not to be had."""

import ctypes
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.probe import power

HANDLE = 0x1234


class Played:
    """NVML's C interface of a GPU at 1900 MHz that rests at 345 and takes 600 W."""

    uuid_known = True
    initialised = 0
    energy_status = 0

    def __init__(self, clock: SimpleNamespace) -> None:
        self._at = clock

    def nvmlInit_v2(self) -> int:  # noqa: N802
        return self.initialised

    def nvmlDeviceGetHandleByUUID(self, uuid: Any, device: Any) -> int:  # noqa: N802
        assert uuid.value == b"GPU-1-2"
        device._obj.value = HANDLE
        return 0 if self.uuid_known else 6

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, device: Any) -> int:  # noqa: N802
        assert index.value == 0
        device._obj.value = HANDLE
        return 0

    def nvmlDeviceGetClockInfo(self, device: Any, which: Any, value: Any) -> int:  # noqa: N802
        assert (device.value, which.value) == (HANDLE, 1)
        value._obj.value = 1900 if self._at.now < self._at.end else 345
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, device: Any, value: Any) -> int:  # noqa: N802
        assert device.value == HANDLE
        value._obj.value = int(600e3 * self._at.now)
        return self.energy_status

    def nvmlDeviceGetEnforcedPowerLimit(self, device: Any, value: Any) -> int:  # noqa: N802
        assert device.value == HANDLE
        value._obj.value = 700_000  # mW
        return 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=0.0, end=0.5)

    def sleep(seconds: float) -> None:
        clock.now += seconds

    time = SimpleNamespace(perf_counter=lambda: clock.now, sleep=sleep)
    monkeypatch.setattr(power, "time", time)
    return clock


@pytest.fixture
def nvml(clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> Played:
    torch: Any = ModuleType("torch")
    torch.cuda = SimpleNamespace(
        current_device=lambda: 0, get_device_properties=lambda _: SimpleNamespace(uuid="1-2")
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    played = Played(clock)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: {"libnvidia-ml.so.1": played}[name])
    return played


def watched(clock: SimpleNamespace) -> tuple[float, float]:
    return power.Monitor().watch(lambda: clock.now >= clock.end)


@pytest.mark.parametrize("uuid_known", [True, False])
@pytest.mark.usefixtures("nvml")
def test_clock_and_power_of_a_long_batch(
    clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, uuid_known: bool
) -> None:
    monkeypatch.setattr(Played, "uuid_known", uuid_known)
    mhz, watt = watched(clock)
    assert mhz == 1900  # not what was read when it had ended
    assert watt == pytest.approx(600, rel=1e-3)


@pytest.mark.parametrize("offset", [0.0, 0.03, 0.07, 0.095])
def test_power_is_taken_between_ticks_of_the_energy_counter(
    clock: SimpleNamespace, nvml: Played, monkeypatch: pytest.MonkeyPatch, offset: float
) -> None:
    def ticking(_device: Any, value: Any) -> int:
        tenths = int(10 * (clock.now + offset) + 1e-9)
        value._obj.value = int(600e3 * tenths / 10)
        return 0

    monkeypatch.setattr(nvml, "nvmlDeviceGetTotalEnergyConsumption", ticking, raising=False)
    _, watt = watched(clock)
    assert watt == pytest.approx(600, rel=0.02)  # over the whole batch: off by up to 20 %


@pytest.mark.usefixtures("nvml")
def test_a_short_batch_has_a_clock_only(clock: SimpleNamespace) -> None:
    clock.end = 0.012
    mhz, watt = watched(clock)
    assert mhz == 1900
    assert math.isnan(watt)


@pytest.mark.usefixtures("nvml")
def test_the_limit_is_in_watts() -> None:
    assert power.Monitor().limit() == 700


def test_without_the_library_nothing_is_known(
    clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_name: str) -> None:
        raise OSError("cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert all(map(math.isnan, (*watched(clock), power.Monitor().limit())))


def test_a_driver_that_does_not_start_is_not_asked(clock: SimpleNamespace, nvml: Played) -> None:
    nvml.initialised = 9  # NVML_ERROR_DRIVER_NOT_LOADED
    assert all(map(math.isnan, watched(clock)))


def test_a_query_that_the_driver_refuses_is_not_known(clock: SimpleNamespace, nvml: Played) -> None:
    nvml.energy_status = 3  # NVML_ERROR_NOT_SUPPORTED
    mhz, watt = watched(clock)
    assert mhz == 1900
    assert math.isnan(watt)
