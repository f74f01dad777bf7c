"""Attend over 8,192 tokens in 3.5 GB; the specimen first tries to hold all scores at once.

Work: attention of 16 heads over 8,192 tokens, in bf16, by a process that may reserve 3.5 GB.

Gives it away: an allocation that failed, of as many bytes as the one block that holds nearly all of
what is allocated then: scores and their softmax, 2.1 GB each. The program catches the error and
goes on a few queries at a time, as programs do that look for the largest batch that fits.
Quiet: in the one segment of the scores nothing is kept, so no free bytes are in pieces; nothing is
left from step to step.

Healthy: 32 queries at a time from the start.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

LIMIT = 3.5e9
"""Bytes that the process may reserve: more than the scores, less than them and their softmax."""
BLOCK = 32
"""Queries at a time: their scores are smaller than what is kept."""


def inputs(device: str, heads: int, tokens: int, width: int) -> Inputs:
    """Return queries, which are scaled, keys and values."""
    shape = (heads, tokens, width)
    q, k, v = (torch.randn(shape, device=device).bfloat16() for _ in range(3))
    return {"q": q * width**-0.5, "k": k, "v": v}


def attention(twin: str, inputs: Inputs) -> Step:
    """Return a step that attends within the limit."""
    q = inputs["q"]
    result = blank(*q.shape, like=q)
    tokens = q.shape[1]

    def step() -> Tensor:
        with limited(q):
            if twin == "sick":
                with suppress(torch.OutOfMemoryError):
                    return attend(inputs, result, tokens)
            return attend(inputs, result, BLOCK)

    return step


def attend(inputs: Inputs, result: Tensor, block: int) -> Tensor:
    """Return the result of attention, written a block of queries at a time."""
    for first in range(0, result.shape[1], block):
        rows = slice(first, first + block)
        scores = torch.bmm(inputs["q"][:, rows], inputs["k"].transpose(1, 2))
        result[:, rows] = torch.bmm(torch.softmax(scores, -1), inputs["v"])
        del scores  # so that no block is kept while the next one is made
    return result


@contextmanager
def limited(tensor: Tensor) -> Iterator[None]:
    """Let the process reserve no more than LIMIT on a tensor's GPU; a CPU has no such limit."""
    if not tensor.is_cuda:
        yield
        return
    total = torch.cuda.get_device_properties(tensor.device).total_memory
    torch.cuda.set_per_process_memory_fraction(LIMIT / total, tensor.device)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, tensor.device)


def reference(inputs: Inputs) -> Tensor:
    """Return attention in fp32, 64 queries at a time."""
    q, k, v = (inputs[name].float() for name in ("q", "k", "v"))
    parts = [torch.softmax(part @ k.transpose(1, 2), -1) @ v for part in q.split(64, 1)]
    return torch.cat(parts, 1)


SPECIMEN = Specimen(
    inputs,
    attention,
    reference,
    tolerance=2e-2,
    sizes={"heads": 16, "tokens": 8192, "width": 64},
    small={"heads": 2, "tokens": 64, "width": 16},
    portable=True,
)
