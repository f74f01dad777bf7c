"""Keep 16 small results and drop 16 large ones; the specimen allocates them in turn.

Work: 16 results of 16 MiB that are kept, 16 intermediates of 48 MiB that are not, then one buffer
of 512 MiB, in all of which words are summed.

Gives it away: reserved bytes far above allocated bytes although nothing is cached for reuse: 16
holes of 48 MiB between kept blocks in one segment, none of which takes the large buffer.
Quiet: the level of allocated bytes is the same in both twins, has no short peak, and does not grow.

Healthy: what is kept is allocated first, side by side, so that the rest of the segment stays whole.
"""

import torch
from specimen import Inputs, Specimen, Step
from torch import Tensor

PIECES = 16
KEPT, DROPPED = 1, 3
"""Sizes of the two kinds of pieces, in units."""


def inputs(device: str, unit: int) -> Inputs:
    """Return a unit of words."""
    return {"x": torch.randn(unit, device=device)}


def pieces(twin: str, inputs: Inputs) -> Step:
    """Return a step that leaves its kept pieces and its large buffer in memory until the next."""
    x = inputs["x"]
    held: list[Tensor] = []

    def filled(units: int, value: float) -> Tensor:
        piece = x.new_empty(units, x.numel())
        return torch.mul(x, value, out=piece[0]) if units == KEPT else piece.copy_(x * value)

    def step() -> Tensor:
        held.clear()
        whole = x.new_empty(PIECES * (KEPT + DROPPED), x.numel())
        del whole  # leaves one segment that all pieces fit into
        if twin == "sick":
            dropped = []
            for number in range(PIECES):
                dropped.append(filled(DROPPED, number))
                held.append(filled(KEPT, number))
        else:
            held.extend(filled(KEPT, number) for number in range(PIECES))
            dropped = [filled(DROPPED, number) for number in range(PIECES)]
        total = sum((piece[0] for piece in dropped), torch.zeros_like(x))
        del dropped
        large = x.new_zeros(PIECES * 2, x.numel())
        held.append(large)
        for piece in held[:-1]:
            total += piece
        return total + large[0]

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the sum: each number counts once for a kept and once for a dropped piece."""
    return inputs["x"] * (PIECES * (PIECES - 1))


SPECIMEN = Specimen(
    inputs,
    pieces,
    reference,
    tolerance=1e-5,
    sizes={"unit": 4 << 20},
    small={"unit": 16},
    portable=True,
)
