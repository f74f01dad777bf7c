"""Move 8 million pendulums in 60 updates; the specimen empties the allocator's cache after each.

Work: 60 times x - sin(x) / 64 of 32 MiB of fp32 words, each update with an intermediate as large.

Gives it away: cudaMalloc and cudaFree within the step, cudaFree waiting for the GPU, and the GPU
idle during both.
Quiet: nothing is copied and no scalar is fetched; the host launches two kernels in less time than
they run.

Healthy: the caching allocator keeps its memory.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

UPDATES, RATE = 60, 2**-6


def inputs(device: str, words: int) -> Inputs:
    """Return angles."""
    return {"angles": torch.randn(words, device=device)}


def updates(twin: str, inputs: Inputs) -> Step:
    """Return a step of 60 updates."""

    def step() -> Tensor:
        current = inputs["angles"]
        for _ in range(UPDATES):
            current = updated(current)
            if twin == "sick":
                torch.cuda.empty_cache()
        return current

    return step


def updated(angles: Tensor) -> Tensor:
    """Return angles a little nearer to rest."""
    return torch.sub(angles, torch.sin(angles), alpha=RATE)


def reference(inputs: Inputs) -> Tensor:
    """Return the angles after all updates, in fp64."""
    current = inputs["angles"].double()
    for _ in range(UPDATES):
        current = updated(current)
    return current


SPECIMEN = Specimen(
    inputs,
    updates,
    reference,
    tolerance=1e-5,
    sizes={"words": 8 << 20},
    small={"words": 64},
    portable=True,
)
