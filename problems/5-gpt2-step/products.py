"""Products of problem 8's kernels with gradients, for the head and for layers of the blocks.

``python products.py`` compiles the kernels that GPT-2's shapes take; otherwise a first step does.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from gpt2 import GPT2
from shapes import SHAPES
from torch import Tensor, nn

sys.path.append(str(Path(__file__).resolve().parents[1] / "8-gemm-any-shape"))

from cubins import build
from gemm import hgemm
from model import choose
from plans import Problem

BATCH = 24


class _Product(torch.autograd.Function):
    """x @ weight^T; the weight's gradient lies as the weight does."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """x: [N, K], weight: [M, K]; returns [N, M]."""
        ctx.save_for_backward(x, weight)
        return hgemm(x, weight.t())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of x and weight."""
        x, weight = ctx.saved_tensors
        of_y = gradients[0].contiguous()
        return hgemm(of_y, weight), hgemm(of_y.t(), x)


class Linear(nn.Module):
    """``nn.Linear`` by the kernels; a compiler adds the bias in what comes next.

    ``biased``: False if what comes next adds the bias by itself.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self.biased = True

    def forward(self, x: Tensor) -> Tensor:
        """Take and return [..., features]."""
        y = _Product.apply(x.flatten(0, -2), self.weight).unflatten(0, x.shape[:-1])
        return y + self.bias if self.biased else y


def replace_linears(model: GPT2) -> None:
    """Put ``Linear`` where an element-wise operation follows: after attention, up and down.

    Attention reads queries, keys and values as they are, so their bias would be one pass more.
    """
    for block in model.blocks:
        block.attention.out = Linear(block.attention.out)
        block.up, block.down = Linear(block.up), Linear(block.down)


def problems(batch: int = BATCH) -> Iterator[Problem]:
    """Yield the products of the head and of the layers that are replaced."""
    shape = SHAPES["gpt2-124m"]
    rows, width = batch * shape.context, shape.width
    head = -(-shape.vocabulary // 128) * 128
    for features, inputs in ((head, width), (width, width), (4 * width, width), (width, 4 * width)):
        yield Problem((rows, features, inputs), "nt")
        yield Problem((rows, inputs, features), "nn")
        yield Problem((features, inputs, rows), "tn")


if __name__ == "__main__":
    steps = {step.name: step for p in problems() for step in (choose(p).step(p),)}
    with ThreadPoolExecutor() as pool:
        for built in pool.map(build, steps.values()):
            print(built)
