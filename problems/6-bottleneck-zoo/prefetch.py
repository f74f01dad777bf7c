"""Copies of batches that run beside the work on the batch before."""

from collections.abc import Callable

import torch
from torch import Tensor


def prefetched(batches: Tensor, device: torch.device, use: Callable[[Tensor], None]) -> None:
    """Call ``use`` with each batch on the device; a second stream copies the next one meanwhile.

    ``batches``: memory of the host, a batch a row; the host waits for copies of memory that is not
    pinned. Two buffers on the device alternate.
    """
    compute, copy = torch.cuda.current_stream(), _copy_stream(device)
    buffers = [torch.empty_like(batches[0], device=device) for _ in range(2)]
    arrived = [torch.cuda.Event() for _ in buffers]
    used = [torch.cuda.Event() for _ in buffers]
    copy.wait_stream(compute)

    def send(number: int) -> None:
        with torch.cuda.stream(copy):
            if number >= len(buffers):
                copy.wait_event(used[number % 2])
            buffers[number % 2].copy_(batches[number], non_blocking=True)
            arrived[number % 2].record(copy)

    send(0)
    for number in range(len(batches)):
        if number + 1 < len(batches):
            send(number + 1)
        compute.wait_event(arrived[number % 2])
        use(buffers[number % 2])
        used[number % 2].record(compute)
    for buffer in buffers:
        buffer.record_stream(copy)


_streams: dict[torch.device, torch.cuda.Stream] = {}


def _copy_stream(device: torch.device) -> torch.cuda.Stream:
    return _streams.setdefault(device, torch.cuda.Stream(device))
