"""Causal attention of one layer by each backend that torch has."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor
from torch.nn.attention import SDPBackend, flex_attention, sdpa_kernel
from work import Work

_OF_TORCH = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}
_PRODUCTS = 2 + 5
"""Forward: queries with keys, weights with values. Backward: both anew or turned, five in all."""


def passes(work: Work, backend: str, device: str) -> Callable[[], Tensor]:
    """Return a function that runs both passes and returns the gradient of the queries.

    Queries, keys and values are views of one tensor, [B, T, 3 width], as the model has them.
    """
    shape = work.shape
    packed = torch.randn(
        work.batch, shape.context, 3 * shape.width, device=device, dtype=torch.bfloat16
    )
    parts = packed.view(*packed.shape[:2], 3, shape.heads, -1).permute(2, 0, 3, 1, 4)
    inputs = [part.detach().requires_grad_() for part in parts.unbind(0)]
    attend = _attention(backend, shape.context, device)
    with torch.no_grad():
        gradient = torch.randn_like(attend(*inputs))

    def both() -> Tensor:
        return torch.autograd.grad(attend(*inputs), inputs, gradient)[0]

    return both


def flop(work: Work) -> float:
    """Return the operations of both passes: the half of each product that a causal mask leaves."""
    shape = work.shape
    return _PRODUCTS * 2 * work.batch * shape.context**2 / 2 * shape.width


def _attention(backend: str, context: int, device: str) -> Callable[..., Any]:
    if backend == "flex":
        mask = flex_attention.create_block_mask(
            lambda _b, _h, query, key: query >= key, None, None, context, context, device=device
        )
        return partial(torch.compile(flex_attention.flex_attention), block_mask=mask)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with sdpa_kernel(_OF_TORCH[backend]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return attend
