"""Is a step right: against fp32, against NCCL, the same on both ranks, and after many replays."""

from typing import Any

import torch
from pair import Pair
from torch import Tensor

TOLERANCE = 3e-2
"""Largest relative error in the norm against fp32: bf16 rounds each of some hundred operations."""
_INPUTS, _REPLAYS = 3, 30


class WrongStepError(Exception):
    """A step's output is not what it should be; the message says by how much."""


def check(cell: Any, pair: Pair, name: str) -> None:
    """State the errors of a step; WrongStepError if it is wrong.

    Inputs alternate from replay to replay: data of an earlier one, read too late, would show.
    """
    pair.both("begin", "expected", "nccl", False)
    expected = [output(pair, "expected", number) for number in range(_INPUTS)]
    firsts = [output(pair, name, number) for number in range(_INPUTS)]
    for replay in range(_REPLAYS):
        number = replay % _INPUTS
        if not torch.equal(output(pair, name, number), firsts[number]):
            raise WrongStepError(f"replay {replay} of {name} differs from the first of its input")
        differing = pair.both("differing", name)
        if differing:
            raise WrongStepError(f"{differing} bytes of {name} differ between the ranks")
    pair.both("load_input", 0)
    exact = pair.first.exact()
    error, library = relative(firsts[0], exact), relative(expected[0], exact)
    if not error <= TOLERANCE:
        raise WrongStepError(f"{name}: relative error {error:.2e}, tolerance {TOLERANCE:.0e}")
    cell.fact(f"error.{name}", error)
    cell.fact(f"error_over_nccl.{name}", error / library)
    apart = sum(int((a != b).sum()) for a, b in zip(firsts, expected, strict=True))
    cell.fact(f"differs_from_nccl.{name}", apart, "elements")


def output(pair: Pair, name: str, number: int) -> Tensor:
    """Return a copy of the step's output for an input."""
    pair.go("load_input", number)
    result: Tensor = pair.go("step", name).clone()
    return result


def relative(result: Tensor, exact: Tensor) -> float:
    """Return ‖result - exact‖ / ‖exact‖; NaN where an element was not written."""
    wide = exact.double()
    return float((result.double() - wide).norm() / wide.norm())
