"""What is used of problem 4, whose folder stands beside this one: its steps, build and launch."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "4-custom-hgemm"
if str(FOLDER) not in sys.path:
    sys.path.insert(1, str(FOLDER))  # before packages: some have a module of such a name

# ruff: noqa: E402 - the folder is on the path from here on
from build import ELEMENTS, BuildError, Built, command, read_log
from build import build as build_rung
from checking import Run, Shape
from contenders import kernel, prepare, product
from cublaslt import (
    COMPUTE_32F,
    CUDA_TYPES,
    FLOAT32,
    PREFER_REDUCTIONS,
    PREFER_WORKSPACE,
    REDUCE_IN_PLACE_OR_FP32,
    BlasError,
    Heuristic,
    handle,
)
from cublaslt import call as call_cublaslt
from launch import (
    DATA_TYPES,
    MAX_BOUND,
    PROGRAMMATIC_SERIALIZATION,
    PROMOTE_256B,
    SWIZZLE_128B,
    Launch,
    LaunchAttribute,
    LaunchConfig,
    LaunchError,
    driver,
    load,
)
from launch import call as call_driver
from sanitize import ONE, SUMMARIES, Finding
from sanitize import read as read_finding
from step import BOX, ELEMENT_BYTES, HOPPER, MAX_SHARED, SMS, Step, ring_bytes
from steps import CANDIDATES
from watchdog import ended

__all__ = [
    "BOX",
    "CANDIDATES",
    "COMPUTE_32F",
    "CUDA_TYPES",
    "DATA_TYPES",
    "ELEMENTS",
    "ELEMENT_BYTES",
    "FLOAT32",
    "FOLDER",
    "HOPPER",
    "MAX_BOUND",
    "MAX_SHARED",
    "ONE",
    "PREFER_REDUCTIONS",
    "PREFER_WORKSPACE",
    "PROGRAMMATIC_SERIALIZATION",
    "PROMOTE_256B",
    "REDUCE_IN_PLACE_OR_FP32",
    "SMS",
    "SUMMARIES",
    "SWIZZLE_128B",
    "BlasError",
    "BuildError",
    "Built",
    "Finding",
    "Heuristic",
    "Launch",
    "LaunchAttribute",
    "LaunchConfig",
    "LaunchError",
    "Run",
    "Shape",
    "Step",
    "build_rung",
    "call_cublaslt",
    "call_driver",
    "command",
    "driver",
    "ended",
    "handle",
    "kernel",
    "load",
    "prepare",
    "product",
    "read_finding",
    "read_log",
    "ring_bytes",
]
