"""CUDA's driver, played: what the scripts ask of it is written down and nothing is computed."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SMS = 132


@dataclass
class Launched:
    """A launch; ``parameters`` are the addresses of the kernel's arguments."""

    grid: tuple[int, int, int]
    threads: int
    shared_bytes: int
    stream: int
    parameters: Any


class Driver:
    """Stands for ``libcuda.so.1``; every call returns success."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.launches: list[Launched] = []
        self._next = 1 << 32

    def __getattr__(self, name: str) -> Callable[..., int]:
        def called(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            return 0

        return called

    def asked(self, name: str) -> list[tuple[Any, ...]]:
        """Return the arguments of every call of a function."""
        return [arguments for called, arguments in self.calls if called == name]

    def cuDeviceGetAttribute(self, value: Any, which: int, _device: Any) -> int:  # noqa: N802
        assert which == 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        value._obj.value = SMS
        return 0

    def cuOccupancyMaxActiveClusters(self, count: Any, _function: Any, config: Any) -> int:  # noqa: N802
        count._obj.value = SMS // config._obj.grid[0]
        return 0

    def cuMemAlloc_v2(self, address: Any, size: Any) -> int:  # noqa: N802
        self.calls.append(("cuMemAlloc_v2", (address, size)))
        address._obj.value, self._next = self._next, self._next + (size.value + 255) // 256 * 256
        return 0

    def cuLaunchKernel(self, *given: Any) -> int:  # noqa: N802
        _, *sizes, stream, parameters, _ = given
        grid_x, grid_y, grid_z, *block, shared = (getattr(size, "value", size) for size in sizes)
        assert block[1:] == [1, 1]
        grid = (grid_x, grid_y, grid_z)
        self.launches.append(Launched(grid, block[0], shared, stream.value or 0, parameters))
        self.calls.append(("cuLaunchKernel", given))
        first = ctypes.cast(parameters[0], ctypes.POINTER(ctypes.c_uint64)).contents
        self.launched(first.value, grid_x * grid_y * grid_z)
        return 0

    def launched(self, address: int, blocks: int) -> None:
        """Do what the kernel would; ``address``: its first argument, if that is a pointer."""
