"""Multiply bf16 matrices in Triton; the specimen's tile is too large for its four warps.

Work: 4096³ in bf16, fp32 accumulators, tiles of 128 × 256, three stages.

Gives it away: 255 registers a thread, the most there are, and spill loads and stores: four warps
have 256 accumulators a thread and nowhere to keep addresses.
Quiet: operands are coalesced and staged in shared memory; occupancy is as low in the healthy twin,
and low in every good matrix product.

Healthy: eight warps for the same tile, 128 accumulators a thread.
"""

from optional_triton import tl, triton
from products import of_square, square
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

WARPS = {"sick": 4, "healthy": 8}


@triton.jit
def multiply(  # noqa: ANN201
    a,  # noqa: ANN001
    b,  # noqa: ANN001
    c,  # noqa: ANN001
    side,  # noqa: ANN001
    tile_rows: tl.constexpr,
    tile_columns: tl.constexpr,
    tile_depth: tl.constexpr,
):
    """Compute one tile of C = A @ B, all row-major; tiles divide ``side``."""
    rows = tl.program_id(1) * tile_rows + tl.arange(0, tile_rows)
    columns = tl.program_id(0) * tile_columns + tl.arange(0, tile_columns)
    depth = tl.arange(0, tile_depth)
    a_at = a + rows[:, None] * side + depth[None, :]
    b_at = b + depth[:, None] * side + columns[None, :]
    total = tl.zeros((tile_rows, tile_columns), dtype=tl.float32)
    for _ in range(0, side, tile_depth):
        total = tl.dot(tl.load(a_at), tl.load(b_at), total)
        a_at += tile_depth
        b_at += tile_depth * side
    tl.store(c + rows[:, None] * side + columns[None, :], total.to(tl.bfloat16))


def multiplied(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    a, b = inputs["a"], inputs["b"]
    side = a.shape[0]
    result = blank(side, side, like=a)
    tile = {
        "tile_rows": 128,
        "tile_columns": 256,
        "tile_depth": 64,
        "num_warps": WARPS[twin],
        "num_stages": 3,
    }

    def step() -> Tensor:
        multiply[(side // 256, side // 128)](a, b, result, side, **tile)
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
