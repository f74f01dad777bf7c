"""Kernels in CUDA, compiled by nvcc when first needed and launched by the driver."""

import ctypes
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import torch
from any_shape import (
    CACHE,
    HOPPER,
    SHARED,
    Launch,
    LaunchConfig,
    Step,
    command,
    compiled,
    compiling,
    enter_context,
    load,
)
from torch import Tensor

FOLDER = Path(__file__).parent


class CudaKernel:
    """A kernel in the file of its name, which may include problem 4's headers.

    ``macros`` are passed to the compiler beside LAUNCH_THREADS and LAUNCH_SHARED_BYTES.
    """

    def __init__(self, name: str, threads: int, shared_bytes: int, **macros: int) -> None:
        self._source = FOLDER / f"{name}.cu"
        sizes = {"threads": threads, "shared_bytes": shared_bytes, "macros": macros}
        self._step = Step(name, name, "", HOPPER, (1, 1, 1), **sizes)  # type: ignore[arg-type]
        self._function = cache(self._load)

    def __call__(self, blocks: int, *arguments: Tensor | int | float) -> None:
        """Launch on the current stream of the first tensor's device; integers are 32 bits wide."""
        device = next(each.device for each in arguments if isinstance(each, Tensor))
        values = [_value(each) for each in arguments]
        parameters = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        threads, shared_bytes = self._step.threads, self._step.shared_bytes
        config = LaunchConfig((blocks, 1, 1), (threads, 1, 1), shared_bytes)
        with torch.cuda.device(device):
            enter_context(device.index)
            launch = Launch(self._function(device.index), config, parameters, values)
            launch(torch.cuda.current_stream().cuda_stream)

    def cubin(self) -> Path:
        """Return the cubin, compiled unless cached; ``BuildError`` if nvcc fails."""
        digest = hashlib.sha256(repr(sorted(self._step.defines().items())).encode())
        for path in (self._source, *sorted(SHARED.glob("*.cuh"))):
            digest.update(path.read_bytes())
        found: Path = CACHE / f"{self._source.stem}-{digest.hexdigest()[:16]}.cubin"
        if not found.exists():
            with compiling(found) as unfinished:
                argv = command(self._step, "bf16", HOPPER, unfinished)
                compiled([*argv[:-1], "-I", str(SHARED), str(self._source)], self._source.name)
        return found

    def _load(self, device: int) -> Any:  # noqa: ARG002 - a function a device
        return load(self.cubin(), self._step)


def _value(argument: Tensor | int | float) -> Any:
    if isinstance(argument, Tensor):
        return ctypes.c_void_p(argument.data_ptr())
    return ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_float(argument)
