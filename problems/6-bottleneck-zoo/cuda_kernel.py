"""Compile a specimen's CUDA source with nvcc, and launch it on torch's stream.

A source is compiled once with ``-DSICK`` and once with ``-DHEALTHY``: what the twins share is
written once, and the difference is what stands under ``#ifdef``. ctypes on ``libcuda.so.1`` needs
no package.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from specimen import SPECIMENS, TWINS, Step
from torch import Tensor

FLAGS = ("-std=c++17", "-O3", "-lineinfo", "-cubin", "-Xptxas=-v")
TIMEOUT_S = 120
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
STATIC_SHARED = 48 << 10
"""Bytes of shared memory that a block gets without asking for more."""

Argument = Tensor | int | float
Grid = tuple[int, ...]


class KernelError(Exception):
    """A source does not compile, or a call of the driver failed."""


def cache_folder() -> Path:
    """Return the cubins' folder; in a cell, beside its variant's caches."""
    if "HARNESS_CELL" in os.environ:  # a container mounts this folder read only
        return Path(os.environ["TRITON_CACHE_DIR"]).parent / "cubins"
    return Path(__file__).parent / ".cubins"


def command(source: Path, twin: str, architecture: str, output: Path) -> list[str]:
    """Return nvcc's arguments; ``architecture``: compute capability without a dot, such as 90."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    target = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    return [nvcc, *FLAGS, target, f"-D{twin.upper()}", "-o", str(output), str(source)]


def build(source: Path, twin: str, architecture: str, folder: Path) -> Path:
    """Return the cubin of a source for one twin, compiled unless it is in ``folder``.

    nvcc's output, with registers and spills of each kernel, lies beside it as ``.log``.
    """
    text = source.read_bytes() + repr((FLAGS, twin, architecture)).encode()
    cubin = folder / f"{source.stem}-{twin}-{hashlib.sha256(text).hexdigest()[:16]}.cubin"
    if not cubin.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = cubin.with_suffix(f".{os.getpid()}.unfinished")
        argv = command(source, twin, architecture, unfinished)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            raise KernelError(f"{source.name} ({twin}) does not compile:\n{done.stderr}")
        cubin.with_suffix(".log").write_text(done.stdout + done.stderr, encoding="utf-8")
        unfinished.replace(cubin)
    return cubin


def build_all(architecture: str, folder: Path) -> dict[tuple[str, str], Path | Exception]:
    """Compile every specimen's source for both twins, side by side; keys are name and twin."""

    def result(pair: tuple[Path, str]) -> Path | Exception:
        try:
            return build(*pair, architecture, folder)
        except (KernelError, OSError, subprocess.TimeoutExpired) as error:
            return error

    pairs = [(path, twin) for path in sorted(SPECIMENS.glob("*/*.cu")) for twin in TWINS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(result, pairs))
    keys = [(f"{path.parent.name}/{path.stem}", twin) for path, twin in pairs]
    return dict(zip(keys, results, strict=True))


def architecture() -> str:
    """Return the compute capability of the current GPU without its dot."""
    return "".join(map(str, torch.cuda.get_device_capability()))


@cache
def driver() -> ctypes.CDLL:
    """Return the driver's library."""
    return ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: Any) -> None:
    """Call a function of the driver; ``KernelError`` if it does not return success."""
    if status := getattr(driver(), name)(*arguments):
        raise _failed(name, status)


def _failed(name: str, status: int) -> KernelError:
    text = ctypes.c_char_p()
    driver().cuGetErrorString(status, ctypes.byref(text))
    return KernelError(f"{name}: error {status}, {(text.value or b'unknown').decode()}")


class Kernel:
    """A kernel of a source for one twin, loaded into torch's context."""

    def __init__(self, source: Path, twin: str, name: str) -> None:
        torch.zeros(1, device="cuda")  # makes the context
        cubin = build(source, twin, architecture(), cache_folder())
        module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), cubin.read_bytes())
        call("cuModuleGetFunction", ctypes.byref(self._function), module, name.encode())

    def step(
        self,
        grid: Grid,
        block: Grid,
        arguments: Sequence[Argument],
        result: Tensor,
        *,
        shared_bytes: int = 0,
        cleared: bool = False,
    ) -> Step:
        """Return a step that launches the kernel on torch's current stream.

        Tensors are passed by address, integers as ``int``, other numbers as ``float``.
        ``shared_bytes``: dynamic shared memory. ``cleared``: the result is set to zero before.
        """
        if shared_bytes > STATIC_SHARED:
            call("cuFuncSetAttribute", self._function, MAX_DYNAMIC_SHARED, shared_bytes)
        values = [_packed(argument) for argument in arguments]
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        shape = [ctypes.c_uint(size) for size in (*_three(grid), *_three(block), shared_bytes)]
        keep = (values, list(arguments))
        return Launch(
            driver().cuLaunchKernel, self._function, shape, addresses, result, cleared, keep
        )


@dataclass(frozen=True)
class Launch:
    """A kernel with its arguments; ``keep``: objects that must outlive the launch."""

    launch: Callable[..., int]
    function: ctypes.c_void_p
    shape: Sequence[ctypes.c_uint]
    addresses: Any
    result: Tensor
    cleared: bool
    keep: Any

    def __call__(self) -> Tensor:
        """Launch on torch's current stream; returns before the kernel has run."""
        if self.cleared:
            clear(self.result)
        if status := self.launch(self.function, *self.shape, stream(), self.addresses, None):
            raise _failed("cuLaunchKernel", status)
        return self.result


def stream() -> ctypes.c_void_p:
    """Return torch's current stream for the driver."""
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def clear(tensor: Tensor) -> None:
    """Set a tensor to zero by a memset on torch's current stream, which is no kernel."""
    count = ctypes.c_size_t(tensor.numel() * tensor.element_size())
    call("cuMemsetD8Async", ctypes.c_void_p(tensor.data_ptr()), ctypes.c_ubyte(0), count, stream())


def _packed(argument: Argument) -> Any:
    if isinstance(argument, Tensor):
        reached = argument.is_cuda or argument.is_pinned()  # pinned: by the same address
        if not (reached and argument.is_contiguous()):
            raise KernelError("a kernel takes contiguous tensors of the GPU, or pinned ones")
        return ctypes.c_void_p(argument.data_ptr())
    return ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_float(argument)


def _three(sizes: Grid) -> tuple[int, int, int]:
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
