"""Pool ragged sequences 60 times; the specimen lets torch count the tokens, which the host awaits.

Work: 60 rounds in which 16,384 rows of 1,024 fp32 words are repeated for the 1 to 3 tokens of their
sequence, weighted token by token, and summed.

Gives it away: repeat_interleave copies the number of tokens, and whether all counts are valid, to
the host and waits for both, in each round; the GPU is idle right after.
Quiet: the copies are of 8 bytes at most; without the waits the host runs ahead, as the kernels of a
round take longer than their launches.

Healthy: the number of tokens is known from when the batch was made, and is passed as output_size.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

ROUNDS, LONGEST = 60, 3


def inputs(device: str, rows: int, side: int) -> Inputs:
    """Return the sequences' rows, their numbers of tokens, and a weight for each token."""
    counts = torch.randint(1, LONGEST + 1, (rows,), device=device)
    return {
        "x": torch.randn(rows, side, device=device),
        "counts": counts,
        "weights": torch.rand(int(counts.sum()), 1, device=device),
    }


def pooled(twin: str, inputs: Inputs) -> Step:
    """Return a step of 60 rounds."""
    x, counts, weights = inputs["x"], inputs["counts"], inputs["weights"]
    tokens = None if twin == "sick" else len(weights)

    def step() -> Tensor:
        total = x.new_zeros(x.shape[1])
        for _ in range(ROUNDS):
            spread = torch.repeat_interleave(x, counts, dim=0, output_size=tokens)
            total += spread.mul_(weights).sum(0)
        return total

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the sum of the rows by the weight of all their tokens, in fp64."""
    ends = inputs["counts"].cumsum(0)
    sums = inputs["weights"][:, 0].double().cumsum(0)
    of_rows = sums[ends - 1].diff(prepend=sums.new_zeros(1))
    return (ROUNDS * torch.mv(inputs["x"].double().t(), of_rows)).float()


SPECIMEN = Specimen(
    inputs,
    pooled,
    reference,
    tolerance=1e-4,
    sizes={"rows": 16384, "side": 1024},
    small={"rows": 64, "side": 8},
    portable=True,
)
