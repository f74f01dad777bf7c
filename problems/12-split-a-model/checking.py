"""Is a split model right: outputs, or losses and gradients, against those of the unsplit one."""

from dataclasses import dataclass, field

import torch
from torch import Tensor
from way import Way
from work import Work, gradients, relative, trained
from world import World

TOLERANCE = {torch.bfloat16: 5e-2, torch.float32: 1e-4}
"""Largest relative error in the norm, by the numbers' type: bf16 rounds each of many sums anew."""


class WrongStepError(Exception):
    """A way's results are not those of the unsplit model; the message says by how much."""


@dataclass(frozen=True)
class Expected:
    """What one GPU computes unsplit: the output, or the loss and gradients by layer and name."""

    output: Tensor
    gradients: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, work: Work) -> "Expected":
        """Run the unsplit model once."""
        stack, x = work.stack(), work.input()
        if not work.trains:
            with torch.no_grad():
                return cls(stack(x))
        with torch.enable_grad():
            loss = trained(stack, x, x.numel())()
        return cls(loss, gradients(stack, range(work.layers)))


def own_part(whole: Tensor, count: int, world: World) -> Tensor:
    """Return the rank's part of a gradient of which it has ``count`` rows: all, or its experts."""
    return whole if len(whole) == count else whole.chunk(len(whole) // count)[world.rank]


def check(way: Way, expected: Expected, world: World) -> float:
    """Return the largest relative error of a way on this rank; WrongStepError if it is wrong."""
    result = way.step()
    if expected.gradients:
        found = {
            name: value
            for stack, numbers in way.parts
            for name, value in gradients(stack, numbers).items()
        }
        error = max(
            relative(value, own_part(expected.gradients[name], len(value), world))
            for name, value in found.items()
        )
    else:
        error = relative(way.gathered(result), expected.output)
    tolerance = TOLERANCE[next(iter(expected.gradients.values()), expected.output).dtype]
    if not world.most(error if error == error else 1e9) <= tolerance:
        raise WrongStepError(f"relative error {error:.2e}, tolerance {tolerance:.0e}")
    return error
