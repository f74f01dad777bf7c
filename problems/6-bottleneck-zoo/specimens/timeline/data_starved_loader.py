"""Train on batches from a DataLoader; the specimen's loader has no workers.

Work: 24 batches of 128 samples, each sample sorted by the dataset as a stand-in for decoding, and
64 products with a matrix of 4096² for each batch.

Gives it away: in a torch trace, the GPU is idle while the host is in
enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__, which takes most of the step.
Quiet: the range is the loader's own, so the idle time is not the model's host code; copies are
small and few kernels are launched.

Healthy: 16 workers, or as many as there are cores, prepare batches while the GPU works; 8 were too
few where cores are slow.
"""

import os

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

BATCHES, SAMPLES, WORKERS, PRODUCTS = 24, 128, 16, 64


class Decoded(Dataset[Tensor]):
    """Samples that are made when they are asked for, the same ones each time."""

    def __init__(self, words: int) -> None:
        self._words = words

    def __len__(self) -> int:
        return BATCHES * SAMPLES

    def __getitem__(self, number: int) -> Tensor:
        source = torch.Generator().manual_seed(number)
        return torch.sort(torch.rand(self._words, generator=source)).values


def inputs(device: str, words: int) -> Inputs:
    """Return an orthogonal matrix; ``words``: its side, the length of a sample."""
    turn, _ = torch.linalg.qr(torch.randn(words, words, device=device))
    return {"turn": turn.contiguous()}


def training(twin: str, inputs: Inputs) -> Step:
    """Return a step of one epoch."""
    turn = inputs["turn"]
    # More workers than cores would only get in each other's way.
    workers = min(WORKERS, len(os.sched_getaffinity(0))) if twin == "healthy" else 0
    loader = DataLoader(
        Decoded(turn.shape[0]),
        batch_size=SAMPLES,
        num_workers=workers,
        persistent_workers=workers > 0,
        prefetch_factor=4 if workers else None,
        pin_memory=turn.is_cuda,
    )

    def step() -> Tensor:
        results = (used(batch.to(turn.device, non_blocking=True), turn) for batch in loader)
        total = next(results)
        for result in results:
            total += result
        return total

    return step


def used(batch: Tensor, turn: Tensor) -> Tensor:
    """Return a batch after a few products, which keep its norm."""
    for _ in range(PRODUCTS):
        batch = torch.mm(batch, turn)
    return batch


def reference(inputs: Inputs) -> Tensor:
    """Return the sum over all batches, made without a loader."""
    turn = inputs["turn"].double()
    data = Decoded(turn.shape[0])
    total = turn.new_zeros(SAMPLES, turn.shape[0])
    for first in range(0, len(data), SAMPLES):
        batch = torch.stack([data[first + at] for at in range(SAMPLES)])
        total += used(batch.to(turn.device).double(), turn)
    return total.float()


SPECIMEN = Specimen(
    inputs,
    training,
    reference,
    tolerance=1e-3,
    sizes={"words": 4096},
    small={"words": 64},
    portable=True,
)
