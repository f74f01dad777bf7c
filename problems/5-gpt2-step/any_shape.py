"""The names of problem 8, whose folder stands beside this one, that are used here."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "8-gemm-any-shape"
if str(FOLDER) not in sys.path:
    sys.path.append(str(FOLDER))

# ruff: noqa: E402 - the folder is on the path from here on
from cubins import CACHE, KERNELS, SHARED, build, compiled, compiling
from families import Tiling, tiled
from general import Library
from ladder import (
    ELEMENT_BYTES,
    HOPPER,
    MAX_SHARED,
    Launch,
    Run,
    Step,
    command,
    load,
    prepare,
)
from model import choose, ranked
from multiplier import Multiplier, computes, key, order
from packing import Matrix, TensorMap, arguments, configured, enter_context, stored
from plans import Plan, Problem, plans
from pool import OperandPool
from pooled import Batch

INCLUDED = (SHARED, KERNELS)
"""Folders of headers: problem 4's, problem 8's."""

__all__ = [
    "CACHE",
    "ELEMENT_BYTES",
    "HOPPER",
    "INCLUDED",
    "MAX_SHARED",
    "Batch",
    "Launch",
    "Library",
    "Matrix",
    "Multiplier",
    "OperandPool",
    "Plan",
    "Problem",
    "Run",
    "Step",
    "TensorMap",
    "Tiling",
    "arguments",
    "build",
    "choose",
    "command",
    "compiled",
    "compiling",
    "computes",
    "configured",
    "enter_context",
    "key",
    "load",
    "order",
    "plans",
    "prepare",
    "ranked",
    "stored",
    "tiled",
]
