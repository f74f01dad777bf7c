"""Multiply bf16 matrices in Triton; the sick twin multiplies by broadcasting and sums.

Work: 2048³ in bf16, sums in fp32.

Gives it away: no instruction of the tensor pipe in a kernel that reads bf16 and spends its time in
fp32 multiply-adds.
Quiet: operands are small enough for L2; loads are coalesced; the grid is large; no spills.

Healthy: `tl.dot`, which compiles to tensor-core instructions.
"""

from optional_triton import tl, triton
from products import of_square, square
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

TILES = {
    "sick": {"tile_rows": 32, "tile_columns": 32, "tile_depth": 8},
    "healthy": {"tile_rows": 128, "tile_columns": 128, "tile_depth": 64},
}


@triton.jit
def multiply(  # noqa: ANN201
    a,  # noqa: ANN001
    b,  # noqa: ANN001
    c,  # noqa: ANN001
    side,  # noqa: ANN001
    tile_rows: tl.constexpr,
    tile_columns: tl.constexpr,
    tile_depth: tl.constexpr,
    broadcast: tl.constexpr,
):
    """Compute one tile of C = A @ B, all row-major; tiles divide ``side``."""
    rows = tl.program_id(1) * tile_rows + tl.arange(0, tile_rows)
    columns = tl.program_id(0) * tile_columns + tl.arange(0, tile_columns)
    depth = tl.arange(0, tile_depth)
    a_at = a + rows[:, None] * side + depth[None, :]
    b_at = b + depth[:, None] * side + columns[None, :]
    total = tl.zeros((tile_rows, tile_columns), dtype=tl.float32)
    for _ in range(0, side, tile_depth):
        left = tl.load(a_at)
        right = tl.load(b_at)
        if broadcast:
            products = left.to(tl.float32)[:, :, None] * right.to(tl.float32)[None, :, :]
            total += tl.sum(products, axis=1)
        else:
            total = tl.dot(left, right, total)
        a_at += tile_depth
        b_at += tile_depth * side
    tl.store(c + rows[:, None] * side + columns[None, :], total.to(tl.bfloat16))


def multiplied(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    a, b = inputs["a"], inputs["b"]
    side, tile = a.shape[0], TILES[twin]
    result = blank(side, side, like=a)
    grid = (side // tile["tile_columns"], side // tile["tile_rows"])

    def step() -> Tensor:
        multiply[grid](a, b, result, side, **tile, broadcast=twin == "sick", num_warps=8)
        return result

    return step


SPECIMEN = Specimen(
    square,
    multiplied,
    of_square,
    tolerance=5e-3,
    sizes={"side": 2048},
    small={"side": 16},
)
