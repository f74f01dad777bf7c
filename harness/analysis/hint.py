"""Hints: what to do, and what a program has to have for it.

Fixes and next steps are texts for every program. Where one names a tool or an API that some program
cannot have, that part is a hint, which says for whom it is. AMD's programs read HIP's names in all
texts (rocm.docs.amd.com: HIP API, "CUDA to HIP").
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Self

from harness.analysis.program import AMD, NVIDIA, Program

_IN_HIP = (
    (r"\bcudaMallocHost\b", "hipHostMalloc"),
    (r"\bcuda([A-Z]\w+)", r"hip\1"),
    (r"(?<![.\w])CUDA\b", "HIP"),
)


class Hint(str):
    """A text that not every program can follow; read as a string, it is what says most.

    Programs for which it does not ``fit`` are told ``otherwise``. ``"keep it" + for_torch("…")`` is
    a hint of two parts.
    """

    __slots__ = ("fits", "otherwise", "parts")
    parts: tuple[str, ...]
    fits: Callable[[Program], bool] | None
    otherwise: str

    def __new__(
        cls, *parts: str, fits: Callable[[Program], bool] | None = None, otherwise: str = ""
    ) -> Self:
        """Return the hint that the parts make, one after another."""
        hint = super().__new__(cls, "".join(parts))
        hint.parts, hint.fits, hint.otherwise = parts, fits, otherwise
        return hint

    def __add__(self, after: str) -> "Hint":
        return Hint(self, after)

    def __radd__(self, before: str) -> "Hint":
        return Hint(before, self)


# What is not known of a program leaves no hint out.
for_torch = partial(Hint, fits=lambda program: program.torch is not False)
for_eager = partial(Hint, fits=lambda of: of.torch is not False and of.compiled is not True)
for_training = partial(Hint, fits=lambda program: program.training is not False)
for_nvidia = partial(Hint, fits=lambda program: program.vendor in (NVIDIA, ""))


def said(text: str, program: Program) -> str:
    """Return a text as a program can follow it, "" where nothing of it is left."""
    left = _left(text, program)
    for pattern, name in _IN_HIP if program.vendor == AMD else ():
        left = re.sub(pattern, name, left)
    return left


def _left(text: str, program: Program) -> str:
    if not isinstance(text, Hint):
        return text
    if text.fits and not text.fits(program):
        return _left(text.otherwise, program)
    return "".join(_left(part, program) for part in text.parts)
