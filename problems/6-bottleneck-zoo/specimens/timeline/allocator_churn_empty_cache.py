"""Run 30 layers with large intermediates; the sick twin empties the allocator's cache after each.

Work: 30 times a product of 2048 × 2048 × 8192 in bf16 with its intermediate of 32 MiB.

Gives it away: cudaMalloc and cudaFree within the step, cudaFree waiting for the GPU, and the GPU
idle during both.
Quiet: nothing is copied and no scalar is fetched; launches are few.

Healthy: the caching allocator keeps its memory.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

LAYERS = 30


def inputs(device: str, side: int, wide: int) -> Inputs:
    """Return an input and the two weights of a layer."""
    return {
        "x": torch.randn(side, side, device=device, dtype=torch.bfloat16),
        "up": torch.randn(side, wide, device=device, dtype=torch.bfloat16) / side**0.5,
        "down": torch.randn(wide, side, device=device, dtype=torch.bfloat16) / wide**0.5,
    }


def layers(twin: str, inputs: Inputs) -> Step:
    """Return a step of 30 layers."""

    def step() -> Tensor:
        current = inputs["x"]
        for _ in range(LAYERS):
            current = layer(current, inputs)
            if twin == "sick":
                torch.cuda.empty_cache()
        return current

    return step


def layer(x: Tensor, inputs: Inputs) -> Tensor:
    """Return a layer's output, of the input's size and about its norm."""
    return torch.mm(torch.tanh(torch.mm(x, inputs["up"])), inputs["down"])


def reference(inputs: Inputs) -> Tensor:
    """Return the layers in the same precision, out of place."""
    current = inputs["x"]
    for _ in range(LAYERS):
        current = layer(current, inputs)
    return current


SPECIMEN = Specimen(
    inputs,
    layers,
    reference,
    tolerance=5e-2,
    sizes={"side": 2048, "wide": 8192},
    small={"side": 8, "wide": 16},
    portable=True,
)
