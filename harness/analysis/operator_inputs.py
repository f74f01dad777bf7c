"""The inputs of a torch operator's call, as a trace with recorded shapes says them."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

FLOATS = {
    "c10::Float8_e4m3fn": 1,
    "c10::Float8_e4m3fnuz": 1,
    "c10::Float8_e5m2": 1,
    "c10::Float8_e5m2fnuz": 1,
    "c10::BFloat16": 2,
    "c10::Half": 2,
    "float": 4,
    "double": 8,
}
BYTES = FLOATS | {
    "bool": 1,
    "unsigned char": 1,
    "signed char": 1,
    "short": 2,
    "short int": 2,
    "int": 4,
    "long": 8,
    "long int": 8,
}
"""Bytes of one element by the name that a C++ compiler gives a tensor's type."""
_KINDS = {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "tf32"}
"""The fastest arithmetic on numbers of a type: nothing says that products may not use TF32."""


@dataclass(frozen=True)
class Tensor:
    """A tensor's sizes, its type by the name that a C++ compiler gives it, and its strides."""

    sizes: tuple[int, ...]
    type: str
    strides: tuple[int, ...] | None = None

    @property
    def elements(self) -> int:
        """Return the elements that lie in memory: those of an expanded dimension are one."""
        if self.strides is None or len(self.strides) != len(self.sizes):
            return math.prod(self.sizes)
        pairs = zip(self.sizes, self.strides, strict=True)
        return math.prod(size for size, stride in pairs if stride or not size)

    @property
    def bytes(self) -> int:
        """Return the bytes of those elements."""
        return self.elements * BYTES[self.type]

    @property
    def kind(self) -> str:
        """Return the fastest arithmetic on this type, "" where no datasheet has a rate for it."""
        return "fp8" if "Float8" in self.type else _KINDS.get(self.type, "")


@dataclass(frozen=True)
class Inputs:
    """The arguments of one call by place: tensors, None for what is none, and values as text."""

    tensors: tuple[Tensor | None, ...]
    values: tuple[str, ...]

    def tensor(self, place: int) -> Tensor | None:
        """Return the tensor at that place, None where there is none."""
        return self.tensors[place] if place < len(self.tensors) else None

    def value(self, place: int) -> str:
        """Return the text of the value at that place, "" where there is none."""
        return self.values[place] if place < len(self.values) else ""

    def bytes(self, places: Sequence[int]) -> int:
        """Return the bytes of the tensors at those places."""
        return sum(each.bytes for place in places if (each := self.tensor(place)))


def parsed(text: str) -> Inputs:
    """Return inputs.

    Raises ValueError, TypeError or RecursionError where the text is not what the evidence writes.
    """
    sizes, types, strides, values = json.loads(text)
    strides = strides or [None] * len(sizes)
    tensors = [_tensor(*each) for each in zip(sizes, types, strides, strict=True)]
    return Inputs(tuple(tensors), tuple(str(value) for value in values or ()))


_MOST_ELEMENTS = 1 << 50
"""More than any memory holds: such sizes are damage."""


def _tensor(sizes: object, type_: object, strides: object) -> Tensor | None:
    if type_ not in BYTES or not are_counts(sizes) or math.prod(sizes) > _MOST_ELEMENTS:
        return None
    return Tensor(tuple(sizes), str(type_), tuple(strides) if are_counts(strides) else None)


def are_counts(values: object) -> TypeGuard[list[int]]:
    """Return whether a value is a list of whole numbers that may be sizes or strides."""
    return isinstance(values, list) and all(
        isinstance(value, int) and 0 <= value < 1 << 40 for value in values
    )
