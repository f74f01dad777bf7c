"""Sum the gradients of gathered rows; the specimen gathers by table[index].

Work: 4 gathers of 2,097,152 rows of 64 fp32 words out of a table of 65,536 rows, a quarter of them
from its first 16 rows, and their backward.

Gives it away: indexing_backward_kernel, in which one warp adds up all gradients of a repeated row
in turn, runs nearly all the time.
Quiet: the GPU is never idle, and its grid is large.

Healthy: torch.index_select, whose backward adds rows by atomic additions.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

GATHERS = 4
HOT, SHARED = 4, 16
"""One in so many rows that are gathered is of the table's first so many."""


def inputs(device: str, rows: int, gathered: int, words: int) -> Inputs:
    """Return whole gradients, so that their sums are exact, and the indices of rows."""
    index = torch.randint(0, rows, (gathered,), device=device)
    index[::HOT] %= SHARED
    return {
        "table": torch.zeros(rows, words, device=device),
        "index": index,
        "gradients": torch.randint(-1, 2, (gathered, words), device=device).float(),
    }


def gathers(twin: str, inputs: Inputs) -> Step:
    """Return a step of 4 gathers and their backward; its result is the table's gradient."""
    table = inputs["table"].clone().requires_grad_()
    index, gradients = inputs["index"], inputs["gradients"]

    def step() -> Tensor:
        if twin == "sick":
            rows = [table[index] for _ in range(GATHERS)]
        else:
            rows = [table.index_select(0, index) for _ in range(GATHERS)]
        return torch.autograd.grad(rows, table, [gradients] * GATHERS)[0]

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the gradients added up in double precision."""
    total = torch.zeros_like(inputs["table"], dtype=torch.float64)
    total.index_add_(0, inputs["index"], inputs["gradients"].double())
    return (GATHERS * total).float()


SPECIMEN = Specimen(
    inputs,
    gathers,
    reference,
    tolerance=0.0,
    sizes={"rows": 1 << 16, "gathered": 1 << 21, "words": 64},
    small={"rows": 64, "gathered": 256, "words": 4},
    portable=True,
)
