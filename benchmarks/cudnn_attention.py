"""What a decoder's step gains from another backend of attention, and from a fixed cache.

    python benchmarks/cudnn_attention.py      on a GPU, with torch

Three programs of the held-out sets call attention over a cache that is one token longer in each
step: two grow it by torch.cat (t04, r10), one slices buffers of a fixed size (s02). On Hopper torch
takes cuDNN's attention, which is built for each new length. A second pass over the same lengths
finds everything built. `static` writes the new row in place, into buffers with room to spare, and
slices them; it stands in for torch.cat. A line has the step's wall time over 16 steps and the four
kernels that take most of the GPU's time of a step, in ms.
"""

import contextlib
import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any
from unittest import mock

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

HELD_OUT = Path(__file__).resolve().parents[1] / "tests/data/held_out"
GROWING = ("fifth_sight/t04.py", "third_sight/r10.py")
SLICED = "fourth_sight/s02.py"
BACKENDS: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "default": contextlib.nullcontext,
    "flash": lambda: sdpa_kernel(SDPBackend.FLASH_ATTENTION),
    "efficient": lambda: sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION),
}
WARM_UP, STEPS, PROFILED, ROOM = 4, 16, 3, 128
LONG = 1000
"""Tokens from which a tensor of four dimensions is a cache of keys or values."""


class Static:
    """Stands in for torch.cat: what is added to a cache is written into a buffer with room."""

    def __init__(self) -> None:
        self._cat = torch.cat
        self._buffers: dict[int, torch.Tensor] = {}

    def __call__(self, tensors: Sequence[torch.Tensor], dim: int = 0) -> torch.Tensor:
        """Return what torch.cat would, of a cache as a view of its buffer."""
        past, length = tensors[0], tensors[0].shape[dim]
        if len(tensors) != 2 or dim != 2 or past.dim() != 4 or length < LONG:
            return self._cat(tensors, dim)
        base = past if past._base is None else past._base
        buffer = self._buffers.get(base.data_ptr())
        if buffer is None:
            batch, heads, _, width = past.shape
            buffer = past.new_empty(batch, heads, length + ROOM, width)
            buffer[:, :, :length] = past
            self._buffers[buffer.data_ptr()] = buffer
        buffer[:, :, length : length + 1] = tensors[1]
        return buffer[:, :, : length + 1]


def loaded(path: Path) -> ModuleType:
    """Return a program of the held-out sets as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line_of(program: str, backend: str, *, static: bool) -> str:
    """Return a program's step as a line: median and least in ms, and its longest kernels."""
    torch.manual_seed(0)
    module = loaded(HELD_OUT / program)
    state, times = module.setup(), []
    grown = mock.patch.object(torch, "cat", Static()) if static else contextlib.nullcontext()
    with grown, BACKENDS[backend]():
        for _ in range(WARM_UP):
            module.step(state)
        torch.cuda.synchronize()
        for _ in range(STEPS):
            begun = time.perf_counter()
            module.step(state)
            torch.cuda.synchronize()
            times.append((time.perf_counter() - begun) * 1e3)
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
            for _ in range(PROFILED):
                module.step(state)
            torch.cuda.synchronize()
    each = profiler.key_averages()
    kernels = sorted(
        (
            (row.key[:60], round(row.self_device_time_total / PROFILED / 1e3, 3))
            for row in each
            if row.self_device_time_total and not row.key.startswith("aten")
        ),
        key=lambda kernel: -kernel[1],
    )
    cache = "static" if static else "cat"
    step = f"ms/step median {median(times):.2f} min {min(times):.2f}"
    return f"{Path(program).name} {cache} {backend} {step} {kernels[:4]}"


def main() -> None:
    """Print a line for each program, cache and backend, twice."""
    sys.path.insert(0, str(HELD_OUT))
    sides = [(program, static) for program in GROWING for static in (False, True)]
    for _ in range(2):
        for program, static in [*sides, (SLICED, False)]:
            for backend in BACKENDS:
                print(line_of(program, backend, static=static), flush=True)
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
