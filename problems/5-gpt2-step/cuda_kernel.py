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
    INCLUDED,
    Launch,
    Step,
    TensorMap,
    arguments,
    command,
    compiled,
    compiling,
    configured,
    enter_context,
    load,
)
from torch import Tensor

FOLDER = Path(__file__).parent


def plain_step(name: str, threads: int, shared_bytes: int, **macros: int) -> Step:
    """Return the step of a kernel without tiles; ``macros`` are passed to the compiler, too."""
    sizes: dict[str, Any] = {"threads": threads, "shared_bytes": shared_bytes, "macros": macros}
    return Step(name, name, "", HOPPER, (1, 1, 1), **sizes)


class CudaKernel:
    """A step whose kernel is in the file of its name here.

    It may include the headers of problems 4 and 8.
    """

    def __init__(self, step: Step) -> None:
        self._source = FOLDER / step.file
        self._step = step
        self._function = cache(self._load)

    def __call__(self, blocks: int, *values: Tensor | TensorMap | int | float) -> None:
        """Launch on the current stream of the first tensor's device; integers are 32 bits wide."""
        device = next(each.device for each in values if isinstance(each, Tensor))
        parameters, keep = arguments([_value(each) for each in values])
        config = configured(self._step, blocks, 0, pdl=self._step.pdl)
        with torch.cuda.device(device):
            enter_context(device.index)
            launch = Launch(self._function(device.index), config, parameters, keep)
            launch(torch.cuda.current_stream().cuda_stream)

    def cubin(self) -> Path:
        """Return the cubin, compiled unless cached; ``BuildError`` if nvcc fails."""
        digest = hashlib.sha256(repr(sorted(self._step.defines().items())).encode())
        headers = [path for folder in INCLUDED for path in sorted(folder.glob("*.cuh"))]
        for path in (self._source, *headers):
            digest.update(path.read_bytes())
        found: Path = CACHE / f"{self._step.name}-{digest.hexdigest()[:16]}.cubin"
        if not found.exists():
            with compiling(found) as unfinished:
                argv = command(self._step, "bf16", HOPPER, unfinished)
                folders = [part for folder in INCLUDED for part in ("-I", str(folder))]
                compiled([*argv[:-1], *folders, str(self._source)], self._source.name)
        return found

    def _load(self, device: int) -> Any:  # noqa: ARG002 - a function a device
        return load(self.cubin(), self._step)


def _value(argument: Tensor | TensorMap | int | float) -> Any:
    if isinstance(argument, Tensor):
        return ctypes.c_void_p(argument.data_ptr())
    if isinstance(argument, TensorMap):
        return argument
    return ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_float(argument)
