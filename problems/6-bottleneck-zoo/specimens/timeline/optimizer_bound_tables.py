"""Train rows of 8 embedding tables; the sick twin updates every row of the tables.

Work: 8 tables of 1,048,576 rows of 64 fp32 words, of which a step uses 4,096 rows each; four steps
of SGD with momentum, beside 8 matrix products a step.

Gives it away: multi_tensor_apply runs for more than half of the time, and the tables' rows that no
batch used are read and written with the rest.
Quiet: the GPU is hardly idle: the host runs ahead of the updates.

Healthy: gradients and momenta of the used rows alone, as sparse=True and an optimiser for it keep
them.
"""

from collections.abc import Callable, Sequence

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

RATE, MOMENTUM, STEPS, PRODUCTS = 0.5, 0.9, 4, 8


def inputs(device: str, tables: int, rows: int, words: int, used: int, width: int) -> Inputs:
    """Return the tables, which rows are used (each once), their gradients, and a square matrix."""
    used_rows = torch.stack([torch.randperm(rows, device=device)[:used] for _ in range(tables)])
    return {
        "tables": torch.randn(tables, rows, words, device=device),
        "index": used_rows,
        "gradients": torch.randn(tables, used, words, device=device),
        "matrix": torch.randn(width, width, device=device, dtype=torch.bfloat16),
    }


def training(twin: str, inputs: Inputs) -> Step:
    """Return four steps from the same rows; its result is the used rows after them."""
    tables = [table.clone().requires_grad_() for table in inputs["tables"]]
    matrix, indices, gradients = inputs["matrix"], inputs["index"], inputs["gradients"]
    moments = torch.empty_like(gradients)

    def sick() -> None:
        optimizer = torch.optim.SGD(tables, lr=RATE, momentum=MOMENTUM, foreach=True)
        for _ in range(STEPS):
            multiply(matrix)
            for table, index, gradient in zip(tables, indices, gradients, strict=True):
                torch.nn.functional.embedding(index, table).backward(gradient)
            optimizer.step()
            optimizer.zero_grad()

    @torch.no_grad()
    def healthy() -> None:
        moments.zero_()
        for _ in range(STEPS):
            multiply(matrix)
            moments.mul_(MOMENTUM).add_(gradients)
            for table, index, moment in zip(tables, indices, moments, strict=True):
                table.index_add_(0, index, moment, alpha=-RATE)

    return rows_after(sick if twin == "sick" else healthy, tables, inputs)


def multiply(matrix: Tensor) -> None:
    """Do what the rest of a model does."""
    for _ in range(PRODUCTS):
        torch.mm(matrix, matrix)


def rows_after(train: Callable[[], None], tables: Sequence[Tensor], inputs: Inputs) -> Step:
    """Return a step that trains from the same rows and returns them."""

    @torch.no_grad()
    def step() -> Tensor:
        for table, index, first in zip(tables, inputs["index"], inputs["tables"], strict=True):
            table.index_copy_(0, index, first[index])
        with torch.enable_grad():
            train()
        return torch.stack([t[at] for t, at in zip(tables, inputs["index"], strict=True)])

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the used rows after the steps: the momenta are multiples of the gradients."""
    momentum = total = 0.0
    for _ in range(STEPS):
        momentum = MOMENTUM * momentum + 1.0
        total += momentum
    rows = torch.stack([t[at] for t, at in zip(inputs["tables"], inputs["index"], strict=True)])
    return rows - RATE * total * inputs["gradients"]


SPECIMEN = Specimen(
    inputs,
    training,
    reference,
    tolerance=1e-5,
    sizes={"tables": 8, "rows": 1 << 20, "words": 64, "used": 4096, "width": 4096},
    small={"tables": 2, "rows": 64, "words": 4, "used": 8, "width": 8},
    portable=True,
)
