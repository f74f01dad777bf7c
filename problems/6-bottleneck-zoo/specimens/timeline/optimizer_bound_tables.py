"""Train rows of 4 embedding tables; the specimen updates every row of the tables.

Work: 4 tables of 8,388,608 rows of 64 fp32 words, of which a step looks up 4,096 rows each, others
every time; four steps of SGD, beside 14 matrix products a step.

Gives it away: multi_tensor_apply runs for more than half of the time, and the tables' rows that no
batch used are read and written with the rest.
Quiet: the GPU is hardly idle: the host runs ahead of the updates.

Healthy: sparse=True, so that gradients and updates are of the used rows alone. Without momentum the
result is the same.
"""

from collections.abc import Callable, Sequence

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

RATE, STEPS, PRODUCTS = 0.5, 4, 14


def inputs(device: str, tables: int, rows: int, words: int, used: int, width: int) -> Inputs:
    """Return the tables, the rows that each step looks up, their gradients, and a square matrix."""
    looked_up = [torch.randperm(rows, device=device)[:used] for _ in range(STEPS * tables)]
    return {
        "tables": torch.randn(tables, rows, words, device=device),
        "index": torch.stack(looked_up).view(STEPS, tables, used),
        "gradients": torch.randn(STEPS, tables, used, words, device=device),
        "matrix": torch.randn(width, width, device=device, dtype=torch.bfloat16),
    }


def training(twin: str, inputs: Inputs) -> Step:
    """Return four steps from the same rows; its result is the used rows after them."""
    tables = [table.clone().requires_grad_() for table in inputs["tables"]]
    sparse = twin == "healthy"
    optimizer = torch.optim.SGD(tables, lr=RATE, foreach=True)

    def train() -> None:
        for index, gradients in zip(inputs["index"], inputs["gradients"], strict=True):
            multiply(inputs["matrix"])
            for table, rows, gradient in zip(tables, index, gradients, strict=True):
                torch.nn.functional.embedding(rows, table, sparse=sparse).backward(gradient)
            optimizer.step()
            optimizer.zero_grad()

    return rows_after(train, tables, inputs)


def multiply(matrix: Tensor) -> None:
    """Do what the rest of a model does."""
    for _ in range(PRODUCTS):
        torch.mm(matrix, matrix)


def rows_after(train: Callable[[], None], tables: Sequence[Tensor], inputs: Inputs) -> Step:
    """Return a step that trains from the same rows and returns them."""
    used = inputs["index"].transpose(0, 1).flatten(1)
    firsts = [first[rows] for first, rows in zip(inputs["tables"], used, strict=True)]

    def step() -> Tensor:
        with torch.no_grad():
            for table, rows, first in zip(tables, used, firsts, strict=True):
                table.index_copy_(0, rows, first)
        train()
        with torch.no_grad():
            return torch.stack([table[rows] for table, rows in zip(tables, used, strict=True)])

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the used rows after the steps, each of which subtracts its gradients."""
    after = inputs["tables"].clone()
    for index, gradients in zip(inputs["index"], inputs["gradients"], strict=True):
        for table, rows, gradient in zip(after, index, gradients, strict=True):
            table.index_add_(0, rows, gradient, alpha=-RATE)
    used = inputs["index"].transpose(0, 1).flatten(1)
    return torch.stack([table[rows] for table, rows in zip(after, used, strict=True)])


SPECIMEN = Specimen(
    inputs,
    training,
    reference,
    tolerance=1e-5,
    sizes={"tables": 4, "rows": 1 << 23, "words": 64, "used": 4096, "width": 4096},
    small={"tables": 2, "rows": 64, "words": 4, "used": 8, "width": 8},
    portable=True,
)
