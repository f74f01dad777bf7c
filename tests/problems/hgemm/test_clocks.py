"""The clock that the multiprocessors counted, from what they wrote before and after."""

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cuda_driver import Driver

NONE = [0, 0]


@pytest.fixture(scope="module")
def clocks(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("clocks")


def test_cycles_over_nanoseconds_are_megahertz(clocks: ModuleType) -> None:
    assert clocks.between([[5_000, 1_000_000]], [[24_800, 1_010_000]]) == 1980


def test_the_clock_is_that_of_the_median_multiprocessor(clocks: ModuleType) -> None:
    begin = [[100 * at, 7_000] for at in range(5)]
    counted = [18_000, 500_000, 18_500, 17_500, 0]  # two of them disagree with the others
    end = [[first + more, 17_000] for (first, _), more in zip(begin, counted, strict=True)]
    assert clocks.between(begin, end) == 1800


def test_rows_of_zeros_are_left_out(clocks: ModuleType) -> None:
    begin = [NONE, [0, 1_000], NONE, [40_000, 1_000], NONE, NONE]
    end = [NONE, [18_000, 11_000], NONE, [60_000, 11_000], [90_000, 11_000], NONE]
    assert clocks.between(begin, end) == 1900  # the fifth was not there at the begin


@given(
    st.lists(st.tuples(st.integers(0, 1 << 50), st.integers(1, 1 << 60)), min_size=1, max_size=20),
    st.integers(1_000, 10**9),
    st.integers(300, 2_000),
)
def test_where_the_counters_stood_does_not_matter(
    clocks: ModuleType, stood: list[tuple[int, int]], ns: int, mhz: int
) -> None:
    begin = [list(one) for one in stood]
    end = [[cycles + mhz * ns, now + 1_000 * ns] for cycles, now in stood]
    assert clocks.between([*begin, NONE], [*end, NONE]) == pytest.approx(mhz)


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
