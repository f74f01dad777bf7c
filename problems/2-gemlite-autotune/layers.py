"""A stack of linear layers with distinct weights: bf16, compiled bf16, GemLite's A16W4 and A16W8.

A decoder's step reads every weight once. A stack that exceeds the L2 cache does the same, so no
cache has to be flushed and no call timed alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

GROUP = 128
_WRONG = 0.1  # far above what rounding parts of a sum to bf16 costs

Forward = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Stack:
    """Layers to call one after another on one input. ``dense``: the last one's weight, in float32.

    ``stored_bytes``: of all layers' weights, scales and zeros. ``weight_error``: how far ``dense``
    is from the bf16 weight that it was made of, relative to it.
    """

    layers: list[Forward]
    dense: Tensor
    stored_bytes: int
    weight_error: float

    def forward(self, x: Tensor) -> Tensor:
        """Return the last layer's output; every layer reads ``x`` (M × K)."""
        for layer in self.layers:
            output = layer(x)
        return output


def build(params: dict[str, Any], count: int, device: str) -> Stack:
    """Return ``count`` layers of K inputs and N outputs, the same weights every time."""
    make = {4: _four_bits, 8: _eight_bits, 16: _bf16}[params["bits"]]
    product = tuned_linear() if params.get("tune_coordinates") else linear
    layers, stored_bytes = [], 0
    for number in range(count):
        torch.manual_seed(number)
        exact = torch.randn(params["n"], params["k"], device=device).div(params["k"] ** 0.5)
        weight = exact.to(torch.bfloat16)
        layer, dense, size = make(weight, product)
        layers.append(layer)
        stored_bytes += size
    weight_error = ((dense - weight.float()).norm() / weight.float().norm()).item()
    return Stack(layers, dense, stored_bytes, weight_error)


def activations(m: int, k: int, device: str) -> Tensor:
    """Return the input of M rows, the same one every time."""
    torch.manual_seed(m)
    return torch.randn(m, k, device=device).to(torch.bfloat16)


def relative_error(output: Tensor, x: Tensor, dense: Tensor) -> float:
    """Return the relative error of ``output`` against a float32 product with ``dense``.

    A wrong product ends the process: its time would mean nothing.
    """
    exact = x.float() @ dense.T
    error: float = ((output.float() - exact).norm() / exact.norm()).item()
    if not error < _WRONG:  # nor if it is not a number
        raise SystemExit(f"wrong product: relative error {error} at M = {x.shape[0]}")
    return error


def replayed(step: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Return the replay of ``step``, recorded once; its output's memory is the graph's."""
    step()  # loads modules, which a recording must not
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = step()

    def replay() -> Tensor:
        graph.replay()
        return output

    return replay


def tuned_linear() -> Callable[[Tensor, Tensor], Tensor]:
    """Return the product as Inductor tunes it, in each process anew.

    With coordinate descent it writes the product of M = 1 as a reduction of its own instead of
    calling cuBLAS (torch._inductor.decomposition, mm); for other M it times Triton's GEMMs as well.
    """
    inductor = torch._inductor.config
    inductor.max_autotune_gemm = True
    inductor.coordinate_descent_tuning = True
    inductor.coordinate_descent_check_all_directions = True
    inductor.force_disable_caches = True

    def product(x: Tensor, weight: Tensor) -> Tensor:
        return linear(x, weight)

    compiled: Callable[[Tensor, Tensor], Tensor] = torch.compile(
        product, fullgraph=True, dynamic=False
    )
    return compiled


Product = Callable[[Tensor, Tensor], Tensor]
Made = tuple[Forward, Tensor, int]
"""A layer's call, its dequantised weight in float32, and its stored bytes."""


def _bf16(weight: Tensor, product: Product) -> Made:
    return lambda x: product(x, weight), weight.float(), weight.numel() * weight.element_size()


def _four_bits(weight: Tensor, _product: Product) -> Made:
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
    return module.forward, dense, _stored(module)


def _eight_bits(weight: Tensor, _product: Product) -> Made:
    """Let GemLite round each row to 255 levels around zero."""
    from gemlite.helper import A16W8_INT8

    module = A16W8_INT8(device="cuda:0").from_weights(weight)
    # Kept transposed: K × N, and one scale for each of the N rows.
    dense = (module.W_q.float() * module.scales.float()).T.contiguous()
    return module.forward, dense, _stored(module)


def _stored(module: Any) -> int:
    """Return the bytes of a GemLite layer's weight, scales and zeros."""
    tensors = module.get_tensor_args()[:3]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
