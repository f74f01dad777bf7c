"""Multiply 20 batches on 2 GPUs and sum the results; the specimen's shards are uneven.

Work: 20 batches of 32,768 rows of 4,096 bf16 words, their rows shared between 2 GPUs, each product
reduced to a row and summed over the GPUs.

Gives it away: one device computes for a third of the time that the other does, and its NCCL kernels
last as long as it waits for the other; the busy device's NCCL kernels are short.
Quiet: the words that are summed are few, so communication itself costs nothing; host far ahead.

Healthy: both GPUs get half of the rows.
"""

import torch
from peers import GPUS, all_reduce, check, wait_for_all
from specimen import Inputs, Specimen, Step
from torch import Tensor

BATCHES = 20
UNEVEN = 0.75
"""Part of the rows that the first GPU gets in the specimen."""


def inputs(device: str, rows: int, side: int) -> Inputs:
    """Return a batch and a weight."""
    return {
        "x": torch.randn(rows, side, device=device, dtype=torch.bfloat16),
        "weight": torch.randn(side, side, device=device, dtype=torch.bfloat16) / side**0.5,
    }


def shards(twin: str, inputs: Inputs) -> Step:
    """Return a step whose result is the mean of all products' rows, times the batches."""
    check()
    rows = len(inputs["x"])
    first = round(rows * UNEVEN) if twin == "sick" else rows // GPUS
    cuts = (slice(0, first), slice(first, rows))
    x = [inputs["x"][cut].to(f"cuda:{at}") for at, cut in enumerate(cuts)]
    weight = [inputs["weight"].to(f"cuda:{at}") for at in range(GPUS)]
    sums = [torch.zeros(weight[0].shape[1], device=f"cuda:{at}") for at in range(GPUS)]
    totals = [torch.zeros_like(each) for each in sums]

    def step() -> Tensor:
        for total in totals:
            total.zero_()
        for _ in range(BATCHES):
            for device in range(GPUS):
                with torch.cuda.device(device):
                    product = torch.mm(x[device], weight[device])
                    torch.sum(product, 0, dtype=torch.float32, out=sums[device])
            all_reduce(sums)
            for total, each in zip(totals, sums, strict=True):
                with torch.cuda.device(total.device):
                    total.add_(each, alpha=1 / rows)
        wait_for_all()
        return totals[0]

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the mean row of the batch, multiplied, times the batches."""
    mean = inputs["x"].double().mean(0)
    return (BATCHES * torch.mv(inputs["weight"].double().t(), mean)).float()


SPECIMEN = Specimen(
    inputs,
    shards,
    reference,
    tolerance=3e-2,
    sizes={"rows": 32768, "side": 4096},
    small={"rows": 8, "side": 8},
)
