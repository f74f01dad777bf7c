"""CUDA's driver, played: what the scripts ask of it is written down and nothing is computed."""

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SMS = 132
ATTRIBUTES = {13: 1_980_000, 16: SMS, 36: 3_201_000, 37: 6016}
"""Of an H200, by CU_DEVICE_ATTRIBUTE_*: clock of the multiprocessors in kHz, their number, clock of
the memory in kHz, its bits."""
CONFIG = struct.Struct("=7I4xQQI4x")
"""CUlaunchConfig as cuda.h has it: grid, block, shared bytes, stream, attributes, their count."""
ATTRIBUTE = struct.Struct("=i4xi60x")
"""CUlaunchAttribute whose value is an int: its id, its value."""


@dataclass
class Launched:
    """A launch; ``attributes``: id, value.

    ``arguments``: the first 8 bytes of each of the kernel's, copied as the driver does, for the
    caller may free them once the launch has returned.
    """

    grid: tuple[int, int, int]
    threads: int
    shared_bytes: int
    stream: int
    arguments: tuple[bytes, ...]
    attributes: tuple[tuple[int, int], ...] = ()


class Driver:
    """Stands for ``libcuda.so.1``; every call returns success."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.launches: list[Launched] = []
        self.attributes = ATTRIBUTES
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
        value._obj.value = self.attributes[which]
        return 0

    def cuMemAlloc_v2(self, address: Any, size: Any) -> int:  # noqa: N802
        self.calls.append(("cuMemAlloc_v2", (address, size)))
        address._obj.value, self._next = self._next, self._next + (size.value + 255) // 256 * 256
        return 0

    def cuLaunchKernelEx(self, *given: Any) -> int:  # noqa: N802
        config, _, parameters, _ = given
        x, y, z, *block, shared, stream, attributes, count = CONFIG.unpack(bytes(config._obj))
        assert block[1:] == [1, 1]
        memory = ctypes.string_at(attributes, count * ATTRIBUTE.size) if count else b""
        self.calls.append(("cuLaunchKernelEx", given))
        found = tuple((number, value) for number, value in ATTRIBUTE.iter_unpack(memory))
        copied = tuple(ctypes.string_at(address, 8) for address in parameters)
        self.launches.append(Launched((x, y, z), block[0], shared, stream, copied, found))
        self.launched(int.from_bytes(copied[0], "little"), x * y * z)
        return 0

    def launched(self, address: int, blocks: int) -> None:
        """Do what the kernel would; ``address``: its first argument, if that is a pointer."""
