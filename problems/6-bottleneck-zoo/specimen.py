"""What a specimen is: one piece of work, done with a bottleneck and without, and the check of both.

Each file ``specimens/FAMILY/NAME.py`` has one, ``SPECIMEN``. Its docstring says what the work is,
which two or three numbers give the bottleneck away, why other findings stay quiet, and what the
healthy twin changes. Both twins get the same inputs and are held against the same reference.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

SPECIMENS = Path(__file__).parent / "specimens"
TWINS = ("sick", "healthy")
WORST = 100
"""Largest error of an element allowed, in tolerances of the whole."""

Inputs = dict[str, Tensor]
Step = Callable[[], Tensor]
"""One call of the work; returns its result, which the next call may overwrite."""


class WrongResultError(Exception):
    """A twin's result is not the reference's; the message says by how much."""


@dataclass(frozen=True)
class Specimen:
    """One piece of work and its two twins.

    ``inputs(device, **sizes)`` makes seeded inputs; ``small`` are the sizes for a CPU.
    ``begin(twin, inputs)`` allocates, compiles, and returns the step of "sick" or "healthy".
    ``reference(inputs)`` computes the result in plain torch. ``tolerance``: largest relative error
    in the norm; 0 asks for equality. ``portable``: the twins also run on a CPU.
    """

    inputs: Callable[..., Inputs]
    begin: Callable[[str, Inputs], Step]
    reference: Callable[[Inputs], Tensor]
    tolerance: float
    sizes: dict[str, int]
    small: dict[str, int] = field(default_factory=dict)
    portable: bool = False

    def inputs_on(self, device: str, *, small: bool = False) -> Inputs:
        """Return the inputs on a device, the same ones for both twins."""
        torch.manual_seed(0)
        return self.inputs(device, **(self.small if small else self.sizes))

    def checked(self, result: Tensor, inputs: Inputs) -> float:
        """Return the relative error in the norm; ``WrongResultError`` if it is too large."""
        return checked(result, self.reference(inputs), self.tolerance)


def checked(result: Tensor, reference: Tensor, tolerance: float) -> float:
    """Return the error of ``result`` over the reference's norm, both of one shape.

    Raises ``WrongResultError`` beyond ``tolerance``, for an element that is off by more than
    ``WORST`` tolerances of the root mean square, and for elements that were never written (NaN).
    """
    if result.shape != reference.shape:
        raise WrongResultError(f"{tuple(result.shape)} instead of {tuple(reference.shape)}")
    if not result.is_floating_point():
        differing = int((result != reference).sum())
        if differing:
            raise WrongResultError(f"{differing} of {result.numel()} elements differ")
        return 0.0
    norm = float(torch.linalg.vector_norm(reference, dtype=torch.float64))
    difference = result.to(torch.float64) - reference
    error = float(torch.linalg.vector_norm(difference)) / norm
    worst = float(difference.abs().max()) / norm * result.numel() ** 0.5
    if not (error <= tolerance and worst <= WORST * tolerance):
        raise WrongResultError(
            f"relative error {error:.2e}, largest {worst:.2e}, tolerance {tolerance:.0e};"
            f" {int(result.isnan().sum())} of {result.numel()} elements are NaN"
        )
    return error


def blank(*shape: int, like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Return memory for a result on the device of ``like``; what is not written is found."""
    dtype = dtype or like.dtype
    unwritten = float("nan") if dtype.is_floating_point else torch.iinfo(dtype).min
    return torch.full(shape, unwritten, dtype=dtype, device=like.device)


def multiprocessors(tensor: Tensor) -> int:
    """Return the number of multiprocessors of a tensor's GPU; an H200's for a CPU."""
    if not tensor.is_cuda:
        return 132
    return int(torch.cuda.get_device_properties(tensor.device).multi_processor_count)


def names(folder: Path = SPECIMENS) -> list[str]:
    """Return all specimens by name, such as "kernel/uncoalesced_transpose"."""
    return sorted(
        path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.py")
    )


def load(name: str) -> Specimen:
    """Return the specimen that a file of ``specimens/`` defines; ``name`` as ``names`` gives it."""
    found = importlib.import_module(f"specimens.{name.replace('/', '.')}").SPECIMEN
    if not isinstance(found, Specimen):
        raise TypeError(f"specimens/{name}.py: SPECIMEN is no Specimen")
    return found


def in_turn(steps: Sequence[Step], result: Tensor) -> Step:
    """Return a step that runs several and returns ``result``."""

    def step() -> Tensor:
        for part in steps:
            part()
        return result

    return step
