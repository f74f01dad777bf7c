"""Each product of a block with its epilogue, beside the same work in kernels that follow it.

Biases of queries, keys and values are cuBLAS's own epilogue in the step without these. Residual
additions are not beside their products: the kernel of the norm after them adds, in both steps.
"""

from collections.abc import Callable, Iterator
from typing import Any

import gelu_kernel
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from fused_product import product_add, product_bias, product_gelu, product_scale
from products import product
from torch import Tensor
from work import Work

FUSED, APART = "fused", "apart"
Pair = tuple[dict[str, Callable[..., object]], list[tuple[Any, ...]]]
"""Both ways to compute, and sets of operands that both take."""


def pairs(work: Work, sets: int) -> Iterator[tuple[str, Pair]]:
    """Yield a name, and what is timed, for each product of a block that has an epilogue.

    Operands are random, in ``sets`` that are used in turn; only those of one product are alive.
    """
    rows, width = work.tokens, work.shape.width
    kinds = {
        "qkv": (_bias, [(rows, width), (3 * width, width), (3 * width,)]),
        "out": (_add, [(rows, width), (width, width), (width,), (rows, width)]),
        "up": (_gelu, [(rows, width), (4 * width, width), (4 * width,)]),
        "down": (_add, [(rows, 4 * width), (width, 4 * width), (width,), (rows, width)]),
        "up_gradient": (
            _scale,
            [(rows, width), (width, 4 * width), (4 * width,), (rows, 4 * width)],
        ),
    }
    for name, (runs, sizes) in kinds.items():
        yield name, (runs(), [tuple(map(_random, sizes)) for _ in range(sets)])


def _bias() -> dict[str, Callable[..., object]]:
    return {FUSED: product_bias, APART: F.linear}


def _add() -> dict[str, Callable[..., object]]:
    def apart(x: Tensor, weight: Tensor, _bias: Tensor, _addend: Tensor) -> Tensor:
        return product(x, weight.t())

    return {FUSED: product_add, APART: apart}


def _gelu() -> dict[str, Callable[..., object]]:
    def apart(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return gelu_kernel.forward(product(x, weight.t()), bias)

    return {FUSED: product_gelu, APART: apart}


def _scale() -> dict[str, Callable[..., object]]:
    def fused(x: Tensor, weight: Tensor, _bias: Tensor, factors: Tensor) -> object:
        return product_scale(x, weight, factors)

    def apart(x: Tensor, weight: Tensor, bias: Tensor, before: Tensor) -> object:
        return gelu_kernel.backward(product(x, weight), before, bias)

    return {FUSED: fused, APART: apart}


def _random(size: tuple[int, ...]) -> Tensor:
    return torch.randn(size, device="cuda", dtype=torch.bfloat16)
