"""Multiply bf16 matrices in Triton; the specimen converts them to fp32, for exact products.

Work: 4096³ in bf16, sums in fp32.

Gives it away: no instruction of the tensor pipe in a kernel that reads bf16 and spends its time in
fp32 multiply-adds: tensor cores have no fp32, so `tl.dot` falls back to FFMA instructions.
Quiet: tiles are reused from shared memory; loads are coalesced; five waves of blocks; no spills.

Healthy: `tl.dot` on the bf16 operands, with a tile for tensor cores, which would spill if it held
fp32 operands. Products of bf16 are exact in fp32, so the result is as accurate.
"""

from optional_triton import tl, triton
from products import of_square, square
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

TILES = {
    "sick": {"tile_rows": 128, "tile_columns": 64, "tile_depth": 16, "num_warps": 4},
    "healthy": {"tile_rows": 128, "tile_columns": 128, "tile_depth": 64, "num_warps": 8},
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
    upcast: tl.constexpr,
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
        if upcast:
            left = left.to(tl.float32)
            right = right.to(tl.float32)
            total = tl.dot(left, right, total, input_precision="ieee")
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
        multiply[grid](a, b, result, side, **tile, upcast=twin == "sick")
        return result

    return step


SPECIMEN = Specimen(
    square,
    multiplied,
    of_square,
    tolerance=5e-3,
    sizes={"side": 4096},
    small={"side": 16},
)
