"""Compile CUDA source at run time with NVRTC, the compiler that torch ships."""

import ctypes
import ctypes.util
from functools import cache
from pathlib import Path

import torch


class CompileError(Exception):
    """NVRTC did not compile a source; the message is its log or its error."""


def compiled(source: str, architecture: str) -> bytes:
    """Return the cubin of a source; ``architecture``: compute capability, such as 90."""
    program = ctypes.c_void_p()
    text = source.encode()
    _call("nvrtcCreateProgram", ctypes.byref(program), text, b"kernel.cu", 0, None, None)
    options = (ctypes.c_char_p * 1)(f"--gpu-architecture=sm_{architecture}".encode())
    if _library().nvrtcCompileProgram(program, 1, options):
        size = ctypes.c_size_t()
        _call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        _call("nvrtcGetProgramLog", program, log)
        raise CompileError(log.value.decode())
    size = ctypes.c_size_t()
    _call("nvrtcGetCUBINSize", program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    _call("nvrtcGetCUBIN", program, image)
    _call("nvrtcDestroyProgram", ctypes.byref(program))
    return image.raw


def _call(name: str, *arguments: object) -> None:
    status = getattr(_library(), name)(*arguments)
    if status:
        raise CompileError(f"{name}: error {status}")


@cache
def _library() -> ctypes.CDLL:
    """Return NVRTC: from torch's own packages, else from CUDA's folder or the search path."""
    beside_torch = Path(torch.__file__).parents[1] / "nvidia"
    found = [
        *beside_torch.glob("*/lib/libnvrtc.so.*"),
        *Path("/usr/local/cuda/lib64").glob("libnvrtc.so.*"),
    ]
    named = [path for path in found if "alt" not in path.name]
    return ctypes.CDLL(str(named[0]) if named else ctypes.util.find_library("nvrtc") or "")
