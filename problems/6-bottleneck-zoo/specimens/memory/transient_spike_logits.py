"""Compute the loss of 4,096 tokens over a vocabulary; the specimen holds all logits at once.

Work: cross-entropy of 4,096 rows of 1,024 bf16 words against a head of 131,072 rows.

Gives it away: a peak of allocated bytes several times the level before and after, made by a few
blocks (logits in bf16, in fp32, and their softmax) that live for a fraction of the step.
Quiet: before and after the peak the level is the same in every step; nothing is left behind.

Healthy: 256 rows at a time.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor
from torch.nn.functional import cross_entropy

CHUNK = 256


def inputs(device: str, rows: int, side: int, vocabulary: int) -> Inputs:
    """Return hidden states, the head, and the right token of each row."""
    return {
        "hidden": torch.randn(rows, side, device=device, dtype=torch.bfloat16),
        "head": torch.randn(vocabulary, side, device=device, dtype=torch.bfloat16) / side**0.5,
        "tokens": torch.randint(vocabulary, (rows,), device=device),
    }


def losses(twin: str, inputs: Inputs) -> Step:
    """Return a step that computes each row's loss."""
    rows = len(inputs["tokens"])
    chunk = rows if twin == "sick" else CHUNK

    def step() -> Tensor:
        return torch.cat([part(inputs, first, chunk) for first in range(0, rows, chunk)])

    return step


def part(inputs: Inputs, first: int, count: int) -> Tensor:
    """Return the losses of ``count`` rows."""
    rows = slice(first, first + count)
    logits = torch.mm(inputs["hidden"][rows], inputs["head"].t())
    return cross_entropy(logits.float(), inputs["tokens"][rows], reduction="none")


def reference(inputs: Inputs) -> Tensor:
    """Return the losses, 64 rows at a time, by the logarithm of the sum of exponentials."""
    losses = []
    for first in range(0, len(inputs["tokens"]), 64):
        rows = slice(first, first + 64)
        logits = torch.mm(inputs["hidden"][rows], inputs["head"].t()).double()
        right = logits.gather(1, inputs["tokens"][rows, None])[:, 0]
        losses.append(torch.logsumexp(logits, 1) - right)
    return torch.cat(losses).float()


SPECIMEN = Specimen(
    inputs,
    losses,
    reference,
    tolerance=1e-2,
    sizes={"rows": 4096, "side": 1024, "vocabulary": 131072},
    small={"rows": 512, "side": 16, "vocabulary": 128},
    portable=True,
)
