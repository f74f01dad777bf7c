"""Inputs of operators as the evidence writes them, made of types and sizes."""

import json
from collections.abc import Sequence

NAMES = {"bf16": "c10::BFloat16", "fp32": "float", "int64": "long int", "fp8": "c10::Float8_e4m3fn"}


def text(*tensors: tuple[str, Sequence[int]], values: Sequence[str] = ()) -> str:
    """Return the JSON of dense tensors of a type and sizes each; values by place, "" for tensors.

    A tensor of type "" is an argument that is none.
    """
    places = max(len(tensors), len(values))
    rest = [("", ())] * (places - len(tensors))
    given = [*tensors, *rest]
    sizes = [list(each) for _, each in given]
    types = [NAMES.get(name, name or "Scalar") for name, _ in given]
    strides = [_dense(each) for each in sizes]
    shown = [*values, *[""] * (places - len(values))]
    return json.dumps([sizes, types, strides, shown])


def _dense(sizes: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]
