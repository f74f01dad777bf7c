"""Scale, shift, clamp and add a residual; the sick twin is eager torch, a kernel an operation.

Work: 16384 × 4096 fp32 words: relu(x · scale + shift) + residual.

Gives it away: four kernels that wait for DRAM, each reading what the one before wrote: nine passes
over memory. The addition and the clamp are near the ceiling of DRAM bandwidth; the two kernels that
broadcast a row are below it.
Quiet: torch's elementwise kernels are coalesced, with full occupancy; arithmetic is idle; the GPU
has no gaps between them at this size.

Healthy: one Triton kernel, three passes, at the DRAM ceiling: a gain of 3 by the bytes, and more by
what the broadcasts lose.
"""

import torch
from optional_triton import tl, triton
from specimen import Inputs, Specimen, Step, blank
from torch import Tensor


@triton.jit
def activation(words, scale, shift, residual, result, tile_columns: tl.constexpr):  # noqa: ANN001, ANN201
    """Compute one row a program."""
    column = tl.arange(0, tile_columns)
    at = tl.program_id(0) * tile_columns + column
    scaled = tl.load(words + at) * tl.load(scale + column) + tl.load(shift + column)
    tl.store(result + at, tl.maximum(scaled, 0.0) + tl.load(residual + at))


def inputs(device: str, rows: int, columns: int) -> Inputs:
    """Return words and residual, and a scale and a shift for each column."""
    return {
        "words": torch.randn(rows, columns, device=device),
        "residual": torch.randn(rows, columns, device=device),
        "scale": torch.randn(columns, device=device),
        "shift": torch.randn(columns, device=device),
    }


def activated(twin: str, inputs: Inputs) -> Step:
    """Return a step of four launches (sick) or one."""
    words, residual, scale, shift = (
        inputs[name] for name in ("words", "residual", "scale", "shift")
    )

    def eager() -> Tensor:
        scaled = words * scale
        shifted = scaled + shift
        clamped = torch.relu(shifted)
        return clamped + residual

    if twin == "sick":
        return eager
    result = blank(*words.shape, like=words)

    def fused() -> Tensor:
        rows, columns = words.shape
        activation[(rows,)](
            words, scale, shift, residual, result, tile_columns=columns, num_warps=8
        )
        return result

    return fused


def reference(inputs: Inputs) -> Tensor:
    """Return the same in fp64."""
    words, residual, scale, shift = (
        inputs[name].double() for name in ("words", "residual", "scale", "shift")
    )
    return (words * scale + shift).clamp(min=0) + residual


SPECIMEN = Specimen(
    inputs,
    activated,
    reference,
    tolerance=1e-6,
    sizes={"rows": 16384, "columns": 4096},
    small={"rows": 4, "columns": 32},
)
