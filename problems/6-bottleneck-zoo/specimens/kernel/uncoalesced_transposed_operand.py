"""Add the transpose of a matrix; the specimen's programs read it a column at a time.

Work: 8192 × 8192 fp32 words, C = A + Bᵀ. A program computes 1024 words of a row of C.

Gives it away: 32 sectors a request for the loads of B where 4 are ideal, so most of the sectors
that L1 gets are seven eighths unused; L2 to L1 is the busiest way.
Quiet: A and C are coalesced; programs of neighbouring rows run together, so B's sectors are found
in L2 and DRAM bytes are near the ideal ones; no shared memory.

Healthy: tiles of 64 × 64, transposed in registers and shared memory, as Triton does for
`tl.trans`.
"""

import torch
from optional_triton import tl, triton
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor


@triton.jit
def add_by_rows(a, b, c, side, block: tl.constexpr):  # noqa: ANN001, ANN201
    """Compute a piece of a row of C from a piece of a column of B."""
    row = tl.program_id(0)
    column = tl.program_id(1) * block + tl.arange(0, block)
    total = tl.load(a + row * side + column) + tl.load(b + column * side + row)
    tl.store(c + row * side + column, total)


@triton.jit
def add_by_tiles(a, b, c, side, block: tl.constexpr):  # noqa: ANN001, ANN201
    """Compute a square tile of C from a tile of A and one of B."""
    rows = tl.program_id(0) * block + tl.arange(0, block)
    columns = tl.program_id(1) * block + tl.arange(0, block)
    at = rows[:, None] * side + columns[None, :]
    mirrored = tl.load(b + columns[:, None] * side + rows[None, :])
    tl.store(c + at, tl.load(a + at) + tl.trans(mirrored))


def inputs(device: str, side: int) -> Inputs:
    """Return two square matrices; ``side`` is a multiple of 1024 on a GPU."""
    return {name: torch.randn(side, side, device=device) for name in ("a", "b")}


def added(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    a, b = inputs["a"], inputs["b"]
    side = a.shape[0]
    result = blank(side, side, like=a)

    def step() -> Tensor:
        if twin == "sick":
            add_by_rows[(side, side // 1024)](a, b, result, side, block=1024, num_warps=4)
        else:
            add_by_tiles[(side // 64, side // 64)](a, b, result, side, block=64, num_warps=4)
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return torch's sum."""
    return inputs["a"] + inputs["b"].t()


SPECIMEN = Specimen(
    inputs,
    added,
    reference,
    tolerance=0,
    sizes={"side": 8192},
    small={"side": 8},
)
