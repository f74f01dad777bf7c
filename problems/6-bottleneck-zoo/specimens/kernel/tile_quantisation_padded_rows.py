"""Iterate a formula over rows of 1040 words; the specimen pads a row to the next power of two.

Work: 65536 rows of 1040 fp32 words, 64 steps of v - v³ / 10. A program a row has a block of 2048.

Gives it away: about half of the computed lanes lie beyond the row: masked at the load and the
store, computed with between. The arithmetic executed is twice that of the elements.
Quiet: no branch diverges, loads are coalesced, the grid is many waves, occupancy is high; memory
is far from its ceiling.

Healthy: the rows lie one after the other, and blocks of 1024 words divide them all.
"""

import torch
from optional_triton import tl, triton
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

STEPS = 64


@triton.jit
def iterate(words, result, count, stride, steps: tl.constexpr, block: tl.constexpr):  # noqa: ANN001, ANN201
    """Compute ``count`` words a program, which start ``stride`` after those of the one before."""
    word = tl.arange(0, block)
    at = tl.program_id(0) * stride + word
    value = tl.load(words + at, mask=word < count, other=0.0)
    for _ in range(steps):
        value = value - 0.1 * value * value * value
    tl.store(result + at, value, mask=word < count)


def inputs(device: str, rows: int, columns: int) -> Inputs:
    """Return words in [0, 1)."""
    return {"words": torch.rand(rows, columns, device=device)}


def iterated(twin: str, inputs: Inputs) -> Step:
    """Return a step of one launch."""
    words = inputs["words"]
    rows, columns = words.shape
    result = blank(rows, columns, like=words)
    each, block = (columns, 2048) if twin == "sick" else (1024, 1024)

    def step() -> Tensor:
        grid = (words.numel() // each,)
        iterate[grid](words, result, each, each, steps=STEPS, block=block, num_warps=8)
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the iterated words."""
    words = inputs["words"].clone()
    for _ in range(STEPS):
        words -= 0.1 * words**3
    return words


SPECIMEN = Specimen(
    inputs,
    iterated,
    reference,
    tolerance=1e-5,
    sizes={"rows": 65536, "columns": 1040},
    small={"rows": 4, "columns": 16},
)
