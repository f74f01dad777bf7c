"""Clip large values 60 times; the sick twin selects them, and the host has to know how many.

Work: 60 rounds on 8,388,608 fp32 words: values above 1 are halved, then all grow by a hundredth.

Gives it away: boolean indexing calls nonzero, which copies a count to the host and waits for it, in
each round; the GPU is idle right after.
Quiet: the copies are of 8 bytes; without the waits the host runs ahead.

Healthy: torch.where, whose result has the input's size.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

ROUNDS = 60


def inputs(device: str, words: int) -> Inputs:
    """Return positive words around 1."""
    return {"x": torch.rand(words, device=device) * 2}


def clipped(twin: str, inputs: Inputs) -> Step:
    """Return a step of 60 rounds."""
    x = inputs["x"]

    def sick() -> Tensor:
        current = x.clone()
        for _ in range(ROUNDS):
            large = current > 1
            current[large] = current[large] * 0.5
            current *= 1.01
        return current

    def healthy() -> Tensor:
        current = x.clone()
        for _ in range(ROUNDS):
            current = torch.where(current > 1, current * 0.5, current)
            current *= 1.01
        return current

    return sick if twin == "sick" else healthy


def reference(inputs: Inputs) -> Tensor:
    """Return the same rounds by a product with 0.5 or 1: exact, as halving is."""
    current = inputs["x"].clone()
    for _ in range(ROUNDS):
        current = current * (1 - 0.5 * (current > 1).to(current.dtype))
        current = current * 1.01
    return current


SPECIMEN = Specimen(
    inputs,
    clipped,
    reference,
    tolerance=1e-6,
    sizes={"words": 8388608},
    small={"words": 512},
    portable=True,
)
