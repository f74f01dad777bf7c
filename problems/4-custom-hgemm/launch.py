"""Load cubins and launch them on torch's stream, through the driver's C interface.

ctypes on ``libcuda.so.1`` needs no package, and the few functions used here have not changed since
CUDA 12.0. A launch is one foreign call: its arguments are packed once for each set of tensors.
"""

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from step import BOX, ELEMENT_BYTES, SMS, Step

DATA_TYPES = {"fp16": 6, "bf16": 9}  # CU_TENSOR_MAP_DATA_TYPE_*
SWIZZLE_128B = 3
PROMOTE_256B = 3  # what TMA fetches into L2 around a box: half of the next K tile's row with it
MULTIPROCESSOR_COUNT = 16  # CU_DEVICE_ATTRIBUTE_*
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_*
PROGRAMMATIC_SERIALIZATION = 6  # CU_LAUNCH_ATTRIBUTE_*
MAX_BOUND = 4096
"""Bound launches that a kernel caches before it drops them all."""


class LaunchError(Exception):
    """A driver call failed; the message has its name and error."""


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute; of its value union only the integer is declared."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_char * 4),
        ("number", ctypes.c_int),
        ("rest_of_value", ctypes.c_char * 60),
    )


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("attribute_count", ctypes.c_uint),
    )


@cache
def driver() -> ctypes.CDLL:
    """Return the driver's library."""
    return ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: Any) -> None:
    """Call a driver function; ``LaunchError`` if it does not return success."""
    status = getattr(driver(), name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        driver().cuGetErrorString(status, ctypes.byref(text))
        reason = (text.value or b"unknown error").decode()
        raise LaunchError(f"{name}: error {status}, {reason}")


def multiprocessors() -> int:
    """Return the current device's count; a CUDA context has to be current."""
    device, count = ctypes.c_int(), ctypes.c_int(SMS)
    call("cuCtxGetDevice", ctypes.byref(device))
    call("cuDeviceGetAttribute", ctypes.byref(count), MULTIPROCESSOR_COUNT, device)
    return count.value


def load(cubin: Path, step: Step) -> ctypes.c_void_p:
    """Load a step's kernel into the current context."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), cubin.read_bytes())
    call("cuModuleGetFunction", ctypes.byref(function), module, step.kernel.encode())
    if step.shared_bytes:
        call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, step.shared_bytes)
    return function


class TensorMap:
    """A TMA descriptor of a row-major matrix of ``rows`` by ``columns`` elements.

    ``box``: rows and columns that one TMA instruction moves.
    """

    def __init__(
        self, element: str, address: int, rows: int, columns: int, box: tuple[int, int]
    ) -> None:
        self._memory = (ctypes.c_byte * (128 + 64))()
        self.address = -(-ctypes.addressof(self._memory) // 64) * 64  # it has to be aligned
        call(
            "cuTensorMapEncodeTiled",
            ctypes.c_void_p(self.address),
            DATA_TYPES[element],
            ctypes.c_uint32(2),
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * 2)(columns, rows),
            (ctypes.c_uint64 * 1)(columns * ELEMENT_BYTES),
            (ctypes.c_uint32 * 2)(box[1], box[0]),
            (ctypes.c_uint32 * 2)(1, 1),
            0,  # no interleave
            SWIZZLE_128B,
            PROMOTE_256B,
            0,  # what lies outside reads as zero
        )


@dataclass
class Launch:
    """One kernel with its launch arguments; ``keep``: objects that must outlive the launch."""

    function: ctypes.c_void_p
    config: LaunchConfig
    parameters: Any
    keep: list[Any]

    def __call__(self, stream: int) -> None:
        """Launch on a stream, given by its handle; returns before the kernel has run."""
        config = LaunchConfig.from_buffer_copy(self.config)  # another thread may launch it, too
        config.stream = stream
        status = driver().cuLaunchKernelEx(
            ctypes.byref(config), self.function, self.parameters, None
        )
        if status:
            raise LaunchError(f"cuLaunchKernelEx: error {status}")


class Kernel:
    """A step's cubin, loaded into the current context (torch has to have made one).

    Called with ``a`` (M by K), ``b`` (K by N) and ``c`` (M by N), contiguous and of the element
    type the cubin was built for, it launches C = A @ B on torch's current stream. ``sms``: how many
    multiprocessors a persistent step spreads over; 0: all that the device has.
    """

    def __init__(self, step: Step, cubin: Path, element: str, sms: int = 0) -> None:
        self.step, self.element = step, element
        self._function = load(cubin, step)
        self._sms = sms or multiprocessors()
        self._bound: dict[tuple[int, ...], Launch] = {}

    def __call__(self, a: Any, b: Any, c: Any) -> None:
        """Compute ``c = a @ b`` on torch's current stream."""
        import torch

        self.bind(a, b, c)(torch.cuda.current_stream().cuda_stream)

    def bind(self, a: Any, b: Any, c: Any) -> Launch:
        """Return the launch for these tensors; cached for each set of addresses and shape.

        Raises ``LaunchError`` for tensors that the step does not take.
        """
        (m, k), n = a.shape, b.shape[1]
        key = (a.data_ptr(), b.data_ptr(), c.data_ptr(), m, n, k)
        launch = self._bound.get(key)
        if launch is None:
            self._check(a, b, c)
            if len(self._bound) >= MAX_BOUND:
                self._bound.clear()
            launch = self._bound[key] = self._pack(*key)
        return launch

    def _check(self, a: Any, b: Any, c: Any) -> None:
        (m, k), (inner, n) = a.shape, b.shape
        if inner != k or tuple(c.shape) != (m, n):
            raise LaunchError(f"shapes do not match: {a.shape} @ {b.shape} -> {c.shape}")
        if not self.step.takes(m, n, k):
            raise LaunchError(f"{self.step.name} does not take {m} x {n} x {k}")
        if not all(operand.is_contiguous() for operand in (a, b, c)):
            raise LaunchError("tensors have to be contiguous")
        if self.step.align > 1 and any(operand.data_ptr() % 16 for operand in (a, b, c)):
            raise LaunchError("tensors have to begin at a multiple of 16 bytes")

    def _pack(self, a: int, b: int, c: int, m: int, n: int, k: int) -> Launch:
        """Return the launch of these addresses and this shape."""
        step = self.step
        shapes = {"a": (a, m, k), "b": (b, k, n), "c": (c, m, n)}
        keep: list[Any] = []
        addresses: list[int] = []
        for operand, rows in zip("abc", step.box_rows, strict=True):
            address, height, width = shapes[operand]
            if operand in step.maps:
                tensor_map = TensorMap(self.element, address, height, width, (rows, BOX))
                keep.append(tensor_map)
                addresses.append(tensor_map.address)
            else:
                value = ctypes.c_void_p(address)
                keep.append(value)
                addresses.append(ctypes.addressof(value))
        for size in (m, n, k):
            number = ctypes.c_int(size)
            keep.append(number)
            addresses.append(ctypes.addressof(number))
        parameters = (ctypes.c_void_p * len(addresses))(*addresses)
        grid = step.grid(m, n, self._sms)
        pdl = LaunchAttribute(PROGRAMMATIC_SERIALIZATION, b"", 1)
        config = LaunchConfig(
            grid, (step.threads, 1, 1), step.shared_bytes, None, ctypes.pointer(pdl), step.pdl
        )
        return Launch(self._function, config, parameters, keep)
