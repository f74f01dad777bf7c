"""What is used of problem 8, whose folder stands beside this one: products, builds, launches."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "8-gemm-any-shape"
if str(FOLDER) not in sys.path:
    sys.path.append(str(FOLDER))

# ruff: noqa: E402 - the folder is on the path from here on
from cubins import CACHE, SHARED, build, compiled, compiling
from gemm import computes
from general import Library, enter_context
from ladder import (
    ELEMENT_BYTES,
    HOPPER,
    MAX_SHARED,
    Launch,
    LaunchConfig,
    Run,
    Step,
    command,
    load,
    prepare,
)
from model import choose, ranked
from multiplier import Multiplier, key, order
from plans import Plan, Problem, plans
from pool import OperandPool
from pooled import Batch

__all__ = [
    "CACHE",
    "ELEMENT_BYTES",
    "HOPPER",
    "MAX_SHARED",
    "SHARED",
    "Batch",
    "Launch",
    "LaunchConfig",
    "Library",
    "Multiplier",
    "OperandPool",
    "Plan",
    "Problem",
    "Run",
    "Step",
    "build",
    "choose",
    "command",
    "compiled",
    "compiling",
    "computes",
    "enter_context",
    "key",
    "load",
    "order",
    "plans",
    "prepare",
    "ranked",
]
