"""Scale 4 vectors by different factors; the specimen compiles each factor into its kernel.

Work: 4 vectors of 16 Mi fp32 words, each scaled by a factor that changes with every step.

Gives it away: the host is in no CUDA call for tens of milliseconds while NVRTC compiles, then in
cuModuleLoadData; the GPU is idle for nearly all of the step, and each kernel runs once.
Quiet: nothing is copied, allocated or waited for; the four kernels take microseconds.

Healthy: the factor is an argument.
"""

import ctypes
from itertools import count

import torch
from cuda_kernel import architecture, call
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor
from workloads.nvrtc import compiled

VECTORS, BLOCK = 4, 256
_SOURCE = """
extern "C" __global__ void scale(const float *x, float *out, int words, float factor)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < words) out[at] = x[at] * %s;
}
"""
_drawn = count(1)


def inputs(device: str, words: int) -> Inputs:
    """Return the vectors; ``words`` is a multiple of the block."""
    return {"x": torch.randn(VECTORS, words, device=device)}


def scaled(twin: str, inputs: Inputs) -> Step:
    """Return a step that scales each vector by 1 and a little that changes from step to step."""
    x = inputs["x"]
    result = blank(*x.shape, like=x)
    kept = Program("factor") if twin == "healthy" else None

    def step() -> Tensor:
        for row in range(VECTORS):
            factor = 1 + next(_drawn) * 2.0**-22
            program = kept or Program(f"{factor!r}f")
            program.launch(x[row], result[row], factor)
        return result

    return step


class Program:
    """The kernel with an expression compiled in as its factor; modules stay loaded."""

    def __init__(self, expression: str) -> None:
        module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        image = compiled(_SOURCE % expression, architecture())
        call("cuModuleLoadData", ctypes.byref(module), image)
        call("cuModuleGetFunction", ctypes.byref(self._function), module, b"scale")

    def launch(self, x: Tensor, out: Tensor, factor: float) -> None:
        """Scale ``x`` into ``out`` on torch's stream."""
        values = (
            ctypes.c_void_p(x.data_ptr()),
            ctypes.c_void_p(out.data_ptr()),
            ctypes.c_int(x.numel()),
            ctypes.c_float(factor),
        )
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        grid = x.numel() // BLOCK
        call("cuLaunchKernel", self._function, grid, 1, 1, BLOCK, 1, 1, 0, stream, addresses, None)


def reference(inputs: Inputs) -> Tensor:
    """Return the vectors: the factors differ from 1 by less than the tolerance."""
    return inputs["x"]


SPECIMEN = Specimen(
    inputs,
    scaled,
    reference,
    tolerance=2e-3,
    sizes={"words": 16 << 20},
    small={"words": 256},
)
