"""CUDA's driver through ctypes: kernels on torch's stream, and memory that another process maps."""

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from workloads.nvrtc import compiled

KERNELS = Path(__file__).parent / "kernels"
_INCLUDE = '#include "peer.cuh"\n'
_ENABLE_PEER_ACCESS = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
_HANDLE_BYTES = 64  # CU_IPC_HANDLE_SIZE

Argument = Tensor | int | float | ctypes.c_void_p


class DriverError(Exception):
    """A call of the driver failed; the message has its name and error."""


class IpcHandle(ctypes.Structure):
    """CUipcMemHandle."""

    _fields_ = (("reserved", ctypes.c_char * _HANDLE_BYTES),)


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: Any) -> None:
    """Call a function of the driver; ``DriverError`` if it does not return success."""
    status = getattr(_driver(), name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        raise DriverError(f"{name}: error {status}, {(text.value or b'unknown').decode()}")


def source(name: str, *defined: str) -> str:
    """Return a file of ``kernels/`` with its header put in and macros defined."""
    text = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
    header = (KERNELS / "peer.cuh").read_text(encoding="utf-8").replace("#pragma once\n", "")
    return "".join(f"#define {macro}\n" for macro in defined) + text.replace(_INCLUDE, header)


@cache
def module(name: str, *defined: str) -> ctypes.c_void_p:
    """Return a source of ``kernels/``, compiled for the current GPU and loaded."""
    architecture = "".join(map(str, torch.cuda.get_device_capability()))
    image = compiled(source(name, *defined), architecture)
    loaded = ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(loaded), image)
    return loaded


class Kernel:
    """A kernel of a source, launched on torch's current stream."""

    def __init__(self, file: str, name: str, *defined: str) -> None:
        self._function = ctypes.c_void_p()
        call(
            "cuModuleGetFunction",
            ctypes.byref(self._function),
            module(file, *defined),
            name.encode(),
        )

    def __call__(self, grid: tuple[int, ...], threads: int, arguments: Sequence[Argument]) -> None:
        """Launch; tensors go by address, integers as ``int``, other numbers as ``float``."""
        values = [_packed(argument) for argument in arguments]
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        x, y, z = (*grid, 1, 1)[:3]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        shape = (x, y, z, threads, 1, 1, 0)
        call("cuLaunchKernel", self._function, *shape, stream, addresses, None)


def _packed(argument: Argument) -> Any:
    if isinstance(argument, Tensor):
        if not (argument.is_cuda and argument.is_contiguous()):
            raise DriverError("a kernel takes contiguous tensors of the GPU")
        return ctypes.c_void_p(argument.data_ptr())
    if isinstance(argument, ctypes.c_void_p):
        return argument
    return ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_float(argument)


def allocate(size: int) -> int:
    """Return the address of zeroed memory of the current GPU, by ``cuMemAlloc``; never freed."""
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(size))
    call("cuCtxSynchronize")
    return address.value


def handle_of(address: int) -> bytes:
    """Return what another process opens to map the memory that ``allocate`` returned."""
    handle = IpcHandle()
    call("cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_uint64(address))
    return bytes(handle)


def opened(handle: bytes) -> int:
    """Return the address at which this process sees another one's memory, on whichever GPU."""
    address = ctypes.c_uint64()
    copy = IpcHandle.from_buffer_copy(handle)
    call("cuIpcOpenMemHandle_v2", ctypes.byref(address), copy, ctypes.c_uint(_ENABLE_PEER_ACCESS))
    return address.value
