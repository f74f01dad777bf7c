"""A matrix product in Triton in the configurations that its autotuner would choose from.

The kernel is the usual one: a program computes a tile of C in a loop over K, tiles go in groups of
rows, and loads are masked where a side is no multiple of the tile. Strides say how A and B lie.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl


@dataclass(frozen=True)
class Config:
    """Tile of C, K of a step, warps and stages of the software pipeline."""

    m: int
    n: int
    k: int
    warps: int
    stages: int

    @property
    def name(self) -> str:
        """A unique name."""
        return f"triton_{self.m}x{self.n}x{self.k}_w{self.warps}_s{self.stages}"


CONFIGS = (
    Config(128, 256, 64, 8, 3),
    Config(256, 128, 64, 8, 3),
    Config(128, 256, 64, 8, 4),
    Config(128, 128, 64, 8, 4),
    Config(128, 128, 64, 4, 4),
    Config(128, 64, 64, 4, 5),
    Config(64, 128, 64, 4, 5),
    Config(64, 256, 64, 8, 4),
    Config(64, 64, 64, 4, 6),
    Config(32, 128, 128, 4, 4),
    Config(16, 128, 128, 4, 5),
    Config(16, 64, 256, 4, 4),
)
"""Large tiles for large C, small ones for few rows."""
GROUP = 8


@triton.jit
def product(  # noqa: ANN201
    a,  # noqa: ANN001
    b,  # noqa: ANN001
    c,  # noqa: ANN001
    m,  # noqa: ANN001
    n,  # noqa: ANN001
    k,  # noqa: ANN001
    a_row,  # noqa: ANN001
    a_column,  # noqa: ANN001
    b_row,  # noqa: ANN001
    b_column,  # noqa: ANN001
    tile_m: tl.constexpr,
    tile_n: tl.constexpr,
    tile_k: tl.constexpr,
    group: tl.constexpr,
):
    """Compute a tile of C = A @ B; C's rows are contiguous."""
    rows, columns = tl.cdiv(m, tile_m), tl.cdiv(n, tile_n)
    place = tl.program_id(0)
    first = place // (group * columns) * group
    height = min(rows - first, group)
    inside = place % (group * columns)
    row, column = first + inside % height, inside // height
    y = row * tile_m + tl.arange(0, tile_m)
    x = column * tile_n + tl.arange(0, tile_n)
    along = tl.arange(0, tile_k)
    y_in, x_in = y[:, None] < m, x[None, :] < n
    a_at = a + y[:, None].to(tl.int64) * a_row + along[None, :] * a_column
    b_at = b + along[:, None].to(tl.int64) * b_row + x[None, :] * b_column
    total = tl.zeros((tile_m, tile_n), dtype=tl.float32)
    for step in range(tl.cdiv(k, tile_k)):
        left = k - step * tile_k
        a_tile = tl.load(a_at, mask=y_in & (along[None, :] < left), other=0.0)
        b_tile = tl.load(b_at, mask=x_in & (along[:, None] < left), other=0.0)
        total = tl.dot(a_tile, b_tile, total)
        a_at += tile_k * a_column
        b_at += tile_k * b_row
    c_at = c + y[:, None].to(tl.int64) * n + x[None, :]
    tl.store(c_at, total.to(c.dtype.element_ty), mask=y_in & x_in)


Oriented = Callable[[Any, Any], tuple[Any, Any]]
"""A and B as they lie, as M by K and K by N."""


def runs(oriented: Oriented) -> dict[str, Callable[..., None]]:
    """Return each configuration as a function of a, b and c, by name."""
    return {config.name: _run(config, oriented) for config in CONFIGS}


def _run(config: Config, oriented: Oriented) -> Callable[..., None]:

    def launch(a: Any, b: Any, c: Any) -> None:
        left, right = oriented(a, b)
        (m, k), n = left.shape, right.shape[1]
        grid = (-(-m // config.m) * -(-n // config.n),)
        product[grid](
            left,
            right,
            c,
            m,
            n,
            k,
            *left.stride(),
            *right.stride(),
            tile_m=config.m,
            tile_n=config.n,
            tile_k=config.k,
            group=GROUP,
            num_warps=config.warps,
            num_stages=config.stages,
        )

    return launch
