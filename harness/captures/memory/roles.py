"""What part of a program asked for memory, told by the stack that torch recorded for it."""

import re
from collections.abc import Sequence

from harness.evidence.roles import CHECKPOINT, MODULE, OPTIMIZER, PROGRAM, WEIGHTS

_OPTIMIZER = re.compile(r"(^|/)torch/optim/(?!lr_scheduler)\w+\.py$")
# torch.save asks for nothing on a GPU.
_LOAD = re.compile(r"(^|/)(torch/serialization|safetensors/torch)\.py$")
_MODULES = re.compile(r"(^|/)torch/nn/modules/\w+\.py$")
_MADE = frozenset(("__init__", "_apply"))
_CALLED = frozenset(("_call_impl", "_wrapped_call_impl"))
_COMPILED = re.compile(r"(^|/)torch/_dynamo/\w+\.py$")

Frame = tuple[str, str]
"""A Python frame's file, with slashes, and function."""


def role(inner: Sequence[Frame], outer: Sequence[Frame]) -> str:
    """Return the role of a block by its Python frames, innermost first.

    ``inner`` are torch's until the first one outside of torch, ``outer`` that one and its callers.
    Callers do not make an update: a closure that an optimizer calls runs the whole model.
    """
    asked = (*inner, *outer[:1])
    if any(_OPTIMIZER.search(file) for file, _ in asked):
        return OPTIMIZER
    if any(_LOAD.search(file) for file, _ in asked):
        return CHECKPOINT
    if any(_MODULES.search(file) and name in _MADE for file, name in inner):
        return WEIGHTS
    for file, name in (*inner, *outer):
        if (_MODULES.search(file) and name in _CALLED) or _COMPILED.search(file):
            return MODULE
    return PROGRAM
