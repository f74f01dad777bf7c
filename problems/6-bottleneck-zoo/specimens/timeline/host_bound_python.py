"""Multiply matrices while Python plans the next product; the specimen plans between launches.

Work: 24 products of 4096² bf16 matrices. Before each, the host orders 800 requests by length, a
plan that only says by how much the product is scaled.

Gives it away: the GPU is idle for most of the step, in a few long gaps in which the host is in no
CUDA call at all.
Quiet: 24 kernels are few, so launches cost nothing; no call waits for the GPU.

Healthy: eight worker processes make the same plans while the GPU multiplies; the loop takes each
plan when it needs it.
"""

import random

import torch
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor
from workers import workers

PRODUCTS, REQUESTS = 24, 800


def inputs(device: str, side: int) -> Inputs:
    """Return a matrix that keeps the size of what it is multiplied with, and another."""
    q, _ = torch.linalg.qr(torch.randn(side, side, device=device))
    return {
        "turn": q.to(torch.bfloat16),
        "x": torch.randn(side, side, device=device, dtype=torch.bfloat16),
    }


def plan(number: int) -> float:
    """Return a scale near 1 that depends on an order of requests."""
    source = random.Random(number)  # noqa: S311, no secret
    lengths = [source.randrange(1, 4096) for _ in range(REQUESTS)]
    order = sorted(range(REQUESTS), key=lambda at: (lengths[at], at))
    return 1.0 + (order[0] % 3 - 1) / 64


def products(twin: str, inputs: Inputs) -> Step:
    """Return a step of 24 products."""
    turn, x = inputs["turn"], inputs["x"]
    buffers = blank(*x.shape, like=x), blank(*x.shape, like=x)
    mapped = map if twin == "sick" else workers().imap

    def step() -> Tensor:
        current = x
        for number, scale in enumerate(mapped(plan, range(PRODUCTS))):
            current = torch.mm(turn, current, out=buffers[number % 2])
            current.mul_(scale)
        return current

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the products in the same precision, one after another."""
    current = inputs["x"]
    for number in range(PRODUCTS):
        current = torch.mm(inputs["turn"], current) * plan(number)
    return current


SPECIMEN = Specimen(
    inputs,
    products,
    reference,
    tolerance=2e-2,
    sizes={"side": 4096},
    small={"side": 32},
    portable=True,
)
