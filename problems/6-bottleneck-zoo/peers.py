"""Sums over the GPUs of one process with NCCL."""

import os
from collections.abc import Sequence

import torch
from torch import Tensor

GPUS = 2
# Two GPUs gain nothing by NVLink's multicast, and containers may lack the rights for it.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")


def check() -> None:
    """Raise RuntimeError where fewer GPUs are shown than the specimens use."""
    shown = torch.cuda.device_count()
    if shown < GPUS:
        raise RuntimeError(f"{shown} GPUs are shown, the specimen uses {GPUS}")


def copies(tensor: Tensor) -> list[Tensor]:
    """Return a tensor on each GPU; the first is the tensor itself."""
    check()
    return [tensor, *(tensor.to(f"cuda:{number}") for number in range(1, GPUS))]


def all_reduce(parts: Sequence[Tensor], streams: Sequence[torch.cuda.Stream] | None = None) -> None:
    """Replace each part by the sum of all; one part a GPU, on its current stream or on these."""
    torch.cuda.nccl.all_reduce(parts, streams=streams)


def wait_for_all() -> None:
    """Let the first GPU's current stream wait for what the others have been given so far."""
    first = torch.cuda.current_stream(0)
    for number in range(1, GPUS):
        first.wait_event(torch.cuda.current_stream(number).record_event())
