"""Apply a scale and shift 600 times to a small vector; the specimen launches a kernel for each.

Work: 65,536 fp32 words, 600 times x ← 0.999 x + b. Every application needs the one before.

Gives it away: 600 kernels of about 1 µs a step, the GPU idle between them while the host is in
cuLaunchKernel or on the few µs to the next call.
Quiet: no call waits for the GPU, nothing is copied or allocated, and the gaps are all alike, so no
single stretch of host code is long.

Healthy: one kernel keeps its words in registers for all 600 applications, so that a step is little
more than one launch.
"""

from pathlib import Path

import torch
from cuda_kernel import Kernel
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cu")
TIMES = 600
DECAY = 0.999
BLOCK = 256


def inputs(device: str, words: int) -> Inputs:
    """Return the vector and what is added each time; ``words`` is a multiple of the block."""
    return {"x": torch.randn(words, device=device), "b": torch.randn(words, device=device) / 1e3}


def chain(twin: str, inputs: Inputs) -> Step:
    """Return a step of 600 applications."""
    x, b = inputs["x"], inputs["b"]
    result = blank(*x.shape, like=x)
    kernel = Kernel(SOURCE, twin, "chain")
    words = x.numel()
    apply = kernel.step((words // BLOCK,), (BLOCK,), (result, b, words, DECAY), result)
    launches = TIMES if twin == "sick" else 1

    def step() -> Tensor:
        result.copy_(x)
        for _ in range(launches):
            apply()
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the closed form of the recurrence, in fp64."""
    x, b = inputs["x"].double(), inputs["b"].double()
    power = DECAY**TIMES
    return (x * power + b * (1 - power) / (1 - DECAY)).float()


SPECIMEN = Specimen(
    inputs, chain, reference, tolerance=1e-4, sizes={"words": 65536}, small={"words": 256}
)
