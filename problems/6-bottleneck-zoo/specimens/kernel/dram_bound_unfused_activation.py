"""Scale, shift, clamp and add a residual; the specimen is eager torch, one kernel per operation.

Work: 16384 × 4096 fp32 words: relu(x · scale + shift) + residual.

Gives it away: four kernels at the ceiling of DRAM bandwidth, each reading what the one before
wrote: nine passes over memory.
Quiet: torch's elementwise kernels are coalesced, with full occupancy; arithmetic is idle; the GPU
has no gaps between them at this size.

Healthy: one Triton kernel, three passes, at the DRAM ceiling: a gain of 3 by the bytes.
"""

import torch
from optional_triton import tl, triton
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor

SCALE, SHIFT = 1.25, 0.5


@triton.jit
def activation(words, residual, result, scale, shift, tile_columns: tl.constexpr):  # noqa: ANN001, ANN201
    """Compute one row a program."""
    at = tl.program_id(0) * tile_columns + tl.arange(0, tile_columns)
    scaled = tl.load(words + at) * scale + shift
    tl.store(result + at, tl.maximum(scaled, 0.0) + tl.load(residual + at))


def inputs(device: str, rows: int, columns: int) -> Inputs:
    """Return words and residual."""
    return {name: torch.randn(rows, columns, device=device) for name in ("words", "residual")}


def activated(twin: str, inputs: Inputs) -> Step:
    """Return a step of four launches (sick) or one."""
    words, residual = inputs["words"], inputs["residual"]

    def eager() -> Tensor:
        scaled = words * SCALE
        shifted = scaled + SHIFT
        clamped = torch.relu(shifted)
        return clamped + residual

    if twin == "sick":
        return eager
    result = blank(*words.shape, like=words)

    def fused() -> Tensor:
        rows, columns = words.shape
        activation[(rows,)](
            words, residual, result, SCALE, SHIFT, tile_columns=columns, num_warps=8
        )
        return result

    return fused


def reference(inputs: Inputs) -> Tensor:
    """Return the same in fp64."""
    words, residual = inputs["words"].double(), inputs["residual"].double()
    return (words * SCALE + SHIFT).clamp(min=0) + residual


SPECIMEN = Specimen(
    inputs,
    activated,
    reference,
    tolerance=1e-6,
    sizes={"rows": 16384, "columns": 4096},
    small={"rows": 4, "columns": 32},
)
