"""The clock that the multiprocessors counted, from what they wrote before and after."""

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.support.cuda_driver import Driver


@pytest.fixture(scope="module")
def clocks(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("clocks")


class Counted:
    """A tensor of int64 in the host's memory, as far as ``Clocks`` uses it."""

    def __init__(self, *shape: int, dtype: str, device: str) -> None:
        assert (shape[0], shape[2], dtype, device) == (2, 2, "int64", "cuda")
        self._rows = shape[1]
        self._memory = (ctypes.c_int64 * (2 * self._rows * 2))()

    def __getitem__(self, half: int) -> Any:
        bytes_each = self._rows * 2 * 8
        return SimpleNamespace(data_ptr=lambda: ctypes.addressof(self._memory) + half * bytes_each)

    def zero_(self) -> None:
        ctypes.memset(self._memory, 0, ctypes.sizeof(self._memory))

    def tolist(self) -> list[list[list[int]]]:
        flat = list(self._memory)
        pairs = [flat[at : at + 2] for at in range(0, len(flat), 2)]
        return [pairs[: self._rows], pairs[self._rows :]]


class Gpu(Driver):
    """132 multiprocessors, with a gap in their numbers, at a clock that is set from outside."""

    mhz, cycles, ns = 1980, 0, 1

    def run(self, ns: int) -> None:
        """Let time pass at the clock of this moment."""
        self.cycles, self.ns = self.cycles + self.mhz * ns // 1_000, self.ns + ns

    def launched(self, address: int, blocks: int) -> None:
        rows = ctypes.cast(address, ctypes.POINTER(ctypes.c_int64))
        for block in range(blocks):
            number = block + 12 * (block >= 60)
            rows[2 * number], rows[2 * number + 1] = self.cycles + 1_000 * block, self.ns


def test_a_clock_is_counted_from_each_begin_to_its_end(
    clocks: ModuleType,
    module: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu, cubin = Gpu(), tmp_path / "clocks.cubin"
    cubin.write_bytes(b"cubin")
    monkeypatch.setattr(module("launch"), "driver", lambda: gpu)
    monkeypatch.setattr(clocks, "build", lambda *_, **__: SimpleNamespace(cubin=cubin))
    torch: Any = ModuleType("torch")
    torch.zeros, torch.int64 = Counted, "int64"
    torch.cuda = SimpleNamespace(current_stream=lambda: SimpleNamespace(cuda_stream=7))
    monkeypatch.setitem(sys.modules, "torch", torch)

    counting = clocks.Clocks()
    for mhz in (1980, 1410):
        gpu.mhz = 345  # while nothing runs
        gpu.run(1_000_000)
        counting.mark(end=False)
        gpu.mhz = mhz
        gpu.run(12_000_000)
        counting.mark(end=True)
        assert counting.mhz() == pytest.approx(mhz)

    counters = module("steps").COUNTERS
    assert [launch.grid for launch in gpu.launches] == [(132, 1, 1)] * 4
    assert {launch.stream for launch in gpu.launches} == {7}
    assert {launch.shared_bytes for launch in gpu.launches} == {counters.shared_bytes}
    assert gpu.asked("cuFuncSetAttribute")[0][2] == counters.shared_bytes
