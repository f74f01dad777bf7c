"""Products of problem 8's kernels with gradients, for the head and for layers of the blocks.

``python products.py`` compiles the kernels that GPT-2's shapes take; otherwise a first step does.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import torch
from any_shape import CACHE, Multiplier, Plan, Problem, build, choose, computes, key, order, plans
from gpt2 import GPT2
from torch import Tensor, nn
from work import CASES, Work

CHOICES = Path(__file__).with_name("choices.json")
"""Of each GPU and product the contender that is fastest under load: see ``under_load.py``."""
LIBRARY = "torch.mm"


@cache
def choices(device: int) -> dict[str, str]:
    """Return a plan's name, or ``LIBRARY``, by ``multiplier.key``; none for a GPU not measured."""
    if not CHOICES.exists():
        return {}
    known = json.loads(CHOICES.read_text(encoding="utf-8"))
    found: dict[str, str] = known.get(torch.cuda.get_device_name(device), {}).get("choices", {})
    return found


@torch.library.custom_op("worklogs::product", mutates_args=())
def product(a: Tensor, b: Tensor) -> Tensor:
    """Return A @ B by the contender that is chosen for the shape, by the kernels for others."""
    shape = (a.shape[0], b.shape[1], a.shape[1])
    if not computes(a, b):
        return torch.mm(a, b)
    if choices(a.device.index).get(_key(shape, order(a) + order(b))) == LIBRARY:
        return torch.mm(a, b)
    c = a.new_empty(a.shape[0], b.shape[1])
    with torch.cuda.device(a.device):
        _multiplier(a.device.index)(a, b, c)
    return c


@product.register_fake
def _(a: Tensor, b: Tensor) -> Tensor:
    return a.new_empty(a.shape[0], b.shape[1])


class _Product(torch.autograd.Function):
    """x @ weight^T; the weight's gradient lies as the weight does."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        """x: [N, K], weight: [M, K]; returns [N, M]."""
        ctx.save_for_backward(x, weight)
        return product(x, weight.t())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of x and weight."""
        x, weight = ctx.saved_tensors
        of_y = gradients[0].contiguous()
        return product(of_y, weight), product(of_y.t(), x)


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


def problems(work: Work) -> Iterator[Problem]:
    """Yield the products of the head and of the blocks' layers.

    Without those that compute queries, keys and values: cuBLAS adds their bias while it stores.
    """
    rows, width = work.tokens, work.shape.width
    head = -(-work.shape.vocabulary // 128) * 128
    layers = ((head, width), (width, width), (4 * width, width), (width, 4 * width))
    for features, inputs in (*layers, (3 * width, width)):
        if features != 3 * width:
            yield Problem((rows, features, inputs), "nt")
        yield Problem((rows, inputs, features), "nn")
        yield Problem((features, inputs, rows), "tn")


@cache
def _multiplier(device: int) -> Multiplier:
    """Return the device's; ValueError if a product's choice is a plan that is no longer there."""
    chosen = choices(device)
    for problem in (each for work in CASES.values() for each in problems(work)):
        _chosen_plan(problem, chosen)
    return Multiplier("bf16", CACHE, tuned=choices(device))


def _chosen_plan(problem: Problem, chosen: dict[str, str]) -> Plan | None:
    """Return the plan that is chosen, None for ``LIBRARY``; ValueError if it is no longer there."""
    name = chosen.get(key(problem, "bf16"), LIBRARY)
    plan = next((each for each in plans(problem) if each.name == name), None)
    if plan is None and name != LIBRARY:
        what = f"{CHOICES.name}: {key(problem, 'bf16')}: problem 8 has no plan {name}"
        raise ValueError(f"{what}: run under_load.py on this GPU")
    return plan


def _key(shape: tuple[int, int, int], layout: str) -> str:
    return key(Problem(shape, layout), "bf16")


def main() -> None:
    """Compile what the plans chosen for this GPU run."""
    steps, chosen = {}, choices(torch.cuda.current_device())
    for problem in (each for work in CASES.values() for each in problems(work)):
        step = (_chosen_plan(problem, chosen) or choose(problem)).step(problem)
        steps[step.name] = step
    with ThreadPoolExecutor() as pool:
        for built in pool.map(build, steps.values()):
            print(built)


if __name__ == "__main__":
    main()
