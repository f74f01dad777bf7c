"""One linear layer: in bf16, or quantised to GemLite's A16W4 or A16W8; its dequantised weight."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

GROUP = 128
_WRONG = 0.1  # far above what rounding parts of a sum to bf16 costs


@dataclass(frozen=True)
class Layer:
    """A layer to call. ``dense`` is the dequantised weight, in float32."""

    forward: Callable[[Tensor], Tensor]
    dense: Tensor
    stored_bytes: int


def build(bits: int, n: int, k: int, device: str) -> Layer:
    """Return a layer of K inputs and N outputs with a random weight, the same one every time."""
    torch.manual_seed(0)
    weight = torch.randn(n, k, device=device).div(k**0.5).to(torch.bfloat16)
    if bits == 16:
        size = weight.numel() * weight.element_size()
        return Layer(lambda x: torch.nn.functional.linear(x, weight), weight.float(), size)
    return _four_bits(weight) if bits == 4 else _eight_bits(weight)


def activations(m: int, k: int, device: str) -> Tensor:
    """Return the input of M rows, the same one every time."""
    torch.manual_seed(m)
    return torch.randn(m, k, device=device).to(torch.bfloat16)


def relative_error(layer: Layer, x: Tensor) -> float:
    """Return the relative error against a float32 product with the dequantised weight.

    A wrong product ends the process: its time would mean nothing.
    """
    exact = x.float() @ layer.dense.T
    error: float = ((layer.forward(x).float() - exact).norm() / exact.norm()).item()
    if not error < _WRONG:  # nor if it is not a number
        raise SystemExit(f"wrong product: relative error {error} at M = {x.shape[0]}")
    return error


def _four_bits(weight: Tensor) -> Layer:
    """Round to the nearest of 16 levels between each group's ends; W is (q - zero) × scale."""
    from gemlite.helper import A16Wn

    groups = weight.float().view(weight.shape[0], -1, GROUP)
    low, high = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
    scale = ((high - low) / 15).to(torch.bfloat16).float()
    zero = (-low / scale).round()
    level = (groups / scale + zero).round().clamp(0, 15)
    dense = ((level - zero) * scale).view_as(weight)
    module = A16Wn(device="cuda:0").from_weights(
        level.to(torch.uint8).view_as(weight),
        scale.to(torch.bfloat16).squeeze(-1),
        zero.to(torch.bfloat16).squeeze(-1),
        W_nbits=4,
        group_size=GROUP,
    )
    return _gemlite(module, dense)


def _eight_bits(weight: Tensor) -> Layer:
    """Let GemLite round each row to 255 levels around zero."""
    from gemlite.helper import A16W8_INT8

    module = A16W8_INT8(device="cuda:0").from_weights(weight)
    # Kept transposed: K × N, and one scale for each of the N rows.
    dense = (module.W_q.float() * module.scales.float()).T.contiguous()
    return _gemlite(module, dense)


def _gemlite(module: Any, dense: Tensor) -> Layer:
    stored = module.get_tensor_args()[:3]  # weight, scales, zeros
    size = sum(tensor.numel() * tensor.element_size() for tensor in stored)
    return Layer(module.forward, dense, size)
