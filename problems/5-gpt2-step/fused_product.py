"""Products by fused_product.cu, each with the element-wise work that comes after it."""

from dataclasses import replace
from functools import cache, lru_cache

import torch
from any_shape import Matrix, Step, TensorMap, Tiling, stored, tiled
from cuda_kernel import CudaKernel
from torch import Tensor

BIAS, BIAS_GELU, SCALE, BIAS_ADD = range(4)
"""The epilogues, as the kernel numbers them."""
_TILING = Tiling(2, 2, 192, 4, (1, 2), 8, 4, kernel="ping_pong")
"""128 by 192 elements a consumer, whose four boxes of C or D leave room for four stages."""
TILINGS = {
    BIAS: replace(_TILING, cluster=(1, 1)),
    BIAS_GELU: _TILING,
    SCALE: replace(_TILING, group=16),
    BIAS_ADD: replace(_TILING, cluster=(1, 1), group=16),
}
"""Of each epilogue the fastest at the power limit: of one or two blocks a cluster, two orders."""
_WARPS = 4
"""Of a consumer: each leaves its rows' part of a sum of columns."""
_BARRIER_BYTES = 8
_MAPS = 4096
"""Tensor maps to keep: the next step finds its tensors in the same memory."""


def step(epilogue: int, layout: str) -> Step:
    """Return what to build; ``layout``: how A and B lie, "nt" or "nn" (see families.py)."""
    base = tiled(TILINGS[epilogue], layout, tma_store=True)
    boxes = _TILING.consumers * _TILING.store_boxes
    spare = base.stages * (TILINGS[epilogue].barriers - 2)  # the ring here has two a stage
    return replace(
        base,
        name=f"fused_product_{epilogue}_{layout}",
        source="fused_product",
        shared_bytes=base.shared_bytes + _BARRIER_BYTES * (boxes - spare),
        macros=base.macros | {"EPILOGUE": epilogue},
        evenly=True,
    )


@torch.library.custom_op("worklogs::product_bias", mutates_args=())
def product_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return x @ weight^T + bias for x [N, K], weight [M, K]; M is a multiple of 64."""
    y = _empty(x, weight.shape[0])
    _launch(BIAS, "nt", x, weight, y, y, bias)
    return y


@product_bias.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:  # noqa: ARG001
    return _empty(x, weight.shape[0])


@torch.library.custom_op("worklogs::product_gelu", mutates_args=())
def product_gelu(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Return the derivative of GELU at u = x @ weight^T + bias [N, M], and GELU(u)."""
    derivative, y = _empty(x, weight.shape[0]), _empty(x, weight.shape[0])
    _launch(BIAS_GELU, "nt", x, weight, derivative, y, bias)
    return derivative, y


@product_gelu.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG001
    return _empty(x, weight.shape[0]), _empty(x, weight.shape[0])


@torch.library.custom_op("worklogs::product_scale", mutates_args=())
def product_scale(x: Tensor, weight: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
    """Return y = (x @ weight) * factors, and float32 parts of its sum over N.

    ``x``: [N, K], ``weight``: [K, M], ``factors``: [N, M]; a part for each warp of a tile: [P, M].
    """
    y, parts = torch.empty_like(factors), _parts(factors)
    _launch(SCALE, "nn", x, weight, y, factors, parts=parts)
    return y, parts


@product_scale.register_fake
def _(x: Tensor, weight: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG001
    return torch.empty_like(factors), _parts(factors)


@torch.library.custom_op("worklogs::product_add", mutates_args=())
def product_add(x: Tensor, weight: Tensor, bias: Tensor, addend: Tensor) -> Tensor:
    """Return x @ weight^T + bias + addend for an addend [N, M]."""
    total = torch.empty_like(addend)
    _launch(BIAS_ADD, "nt", x, weight, total, addend, bias)
    return total


@product_add.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor, addend: Tensor) -> Tensor:  # noqa: ARG001
    return torch.empty_like(addend)


def _launch(
    epilogue: int,
    layout: str,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Tensor,
    bias: Tensor | None = None,
    parts: Tensor | None = None,
) -> None:
    """Launch the kernel; ``a`` and ``b`` as they lie. ``ValueError`` for other than whole boxes."""
    columns = c.shape[1]
    tensors = (a, b, c, d)
    if columns % _TILING.stored_columns or any(
        each.dtype != torch.bfloat16 or not each.is_contiguous() for each in tensors
    ):
        raise ValueError(f"fused_product.cu: no contiguous bf16 rows, or {columns} columns of C")
    built = step(epilogue, layout)
    rows = (*built.box_rows, built.box_rows[-1])
    maps = [_map(stored(each), count) for each, count in zip(tensors, rows, strict=True)]
    count = torch.cuda.get_device_properties(c.device).multi_processor_count
    blocks = built.grid(c.shape[0], columns, count)[0]
    pointers = (c if bias is None else bias, c if parts is None else parts)
    _kernel(epilogue, layout)(blocks, *maps, *pointers, c.shape[0], columns, a.shape[1])


@cache
def _kernel(epilogue: int, layout: str) -> CudaKernel:
    return CudaKernel(step(epilogue, layout))


@lru_cache(_MAPS)
def _map(matrix: Matrix, box_rows: int) -> TensorMap:
    return TensorMap("bf16", matrix, box_rows)


def _empty(x: Tensor, columns: int) -> Tensor:
    return x.new_empty(x.shape[0], columns)


def _parts(y: Tensor) -> Tensor:
    count = -(-y.shape[0] // _TILING.tile_m) * _WARPS
    return torch.empty(count, y.shape[1], dtype=torch.float32, device=y.device)
