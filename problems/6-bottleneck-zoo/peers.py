"""Sums and exchanges over the GPUs of one process with NCCL."""

import ctypes
import os
from collections.abc import Sequence
from functools import cache

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


def all_to_all(
    sent: Sequence[Tensor], received: Sequence[Tensor], rows: Sequence[Sequence[int]]
) -> None:
    """Send ``rows[source][target]`` rows from each GPU to each, on their current streams.

    A GPU's ``sent`` holds its rows in the order of the targets, ``received`` in that of the
    sources. torch has no all-to-all for the GPUs of one process, so NCCL is called.
    """
    communicators = _communicators()
    _nccl("ncclGroupStart")
    for gpu, communicator in enumerate(communicators):
        stream = ctypes.c_void_p(torch.cuda.current_stream(gpu).cuda_stream)
        outgoing, incoming = sent[gpu].split(rows[gpu]), [each[gpu] for each in rows]
        places = received[gpu][: sum(incoming)].split(incoming)
        for peer in range(GPUS):
            for name, part in (("ncclSend", outgoing[peer]), ("ncclRecv", places[peer])):
                size = ctypes.c_size_t(part.numel() * part.element_size())
                address = ctypes.c_void_p(part.data_ptr())
                _nccl(name, address, size, NCCL_BYTES, peer, communicator, stream)
    _nccl("ncclGroupEnd")


NCCL_BYTES = 0  # ncclInt8


@cache
def _communicators() -> Sequence[ctypes.c_void_p]:
    """Return a communicator a GPU."""
    made = (ctypes.c_void_p * GPUS)()
    _nccl("ncclCommInitAll", made, GPUS, (ctypes.c_int * GPUS)(*range(GPUS)))
    return [ctypes.c_void_p(each) for each in made]


def _nccl(name: str, *arguments: object) -> None:
    """Call a function of the NCCL that torch has loaded; RuntimeError if it fails."""
    status = getattr(ctypes.CDLL("libnccl.so.2"), name)(*arguments)
    if status:
        raise RuntimeError(f"{name}: error {status}")


def wait_for_all() -> None:
    """Let the first GPU's current stream wait for what the others have been given so far."""
    first = torch.cuda.current_stream(0)
    for number in range(1, GPUS):
        first.wait_event(torch.cuda.current_stream(number).record_event())
