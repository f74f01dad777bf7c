"""What a program is, as far as its captures say it: that decides which advice it can follow."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from harness.evidence.capture import Capture
from harness.evidence.tables import Tables

NVIDIA, AMD = "NVIDIA", "AMD"

_OF_TORCH = re.compile(r"at::native|c10::|triton_(?:poi|red|per|tem)_|at_cuda_detail|aten::")
"""In names of kernels and ranges: torch's own namespaces, and what Inductor generates."""
_COMPILED = re.compile(r"triton_(?:poi|red|per|tem)_|CompiledFxGraph|Torch-Compiled Region")
_TRAINING = re.compile(
    r"Optimizer\.|multi_tensor_apply|_backward|autograd::|adam|[wd]grad|bwd_(?:weight|data)", re.I
)
_OF_HARNESS = re.compile(r"(?:step|phase):")
"""Ranges of this project's probe, which runs in programs that may import torch."""
_HIP = re.compile(r"^hip[A-Z]")
_NVIDIA_ALONE = ("nsys", "ncu")
"""Kinds of capture that profilers of NVIDIA's make."""
_LEAST_KERNELS = 10
"""Distinct enough to tell: a torch program that launched fewer may show none of torch's own."""


@dataclass(frozen=True)
class Program:
    """A program: who made its GPU, and whether it uses torch, compiles its model and trains.

    ``vendor`` is "" and the others are None where the captures do not say it.
    """

    vendor: str = ""
    torch: bool | None = None
    compiled: bool | None = None
    training: bool | None = None


def of_captures(captures: Sequence[Capture]) -> Program:
    """Return the program that captures are of; what any of them shows holds for all."""
    names = {name for each in captures for name in _names(each.tables)}
    operators = any(_rows(each.tables, "operators") for each in captures)
    has_torch = operators or any(map(_OF_TORCH.search, names)) or _has_snapshot(captures)
    torch = True if has_torch else _plain(captures, names)
    trains = any(map(_TRAINING.search, names)) or any(
        _rows(each.tables, "autograd_threads") for each in captures
    )
    return Program(
        vendor=_vendor(captures),
        torch=torch,
        compiled=True if any(map(_COMPILED.search, names)) else (False if operators else None),
        training=True if trains else (False if operators else None),
    )


def _plain(captures: Sequence[Capture], names: set[str]) -> bool | None:
    """Return False where a timeline shows kernels of others alone, and no range of the harness."""
    kernels = sum(
        each.tables["gpu_ops"].filter(pl.col("kind") == "kernel").height
        for each in captures
        if "gpu_ops" in each.tables
    )
    own = any(map(_OF_HARNESS.match, names))
    return False if kernels >= _LEAST_KERNELS and not own else None


def _names(tables: Tables) -> Iterator[str]:
    """Yield the distinct names of a capture's kernels, ranges, operators and nodes."""
    for table, column in (
        *(("gpu_ops", "name"), ("ranges", "name"), ("operators", "name")),
        *(("counters", "name"), ("origins", "node")),
    ):
        if table in tables:
            yield from tables[table][column].drop_nulls().unique().cast(pl.String)


def _rows(tables: Tables, name: str) -> int:
    return tables[name].height if name in tables else 0


def _has_snapshot(captures: Sequence[Capture]) -> bool:
    return any(_rows(each.tables, "memory_pools") for each in captures)


def _vendor(captures: Sequence[Capture]) -> str:
    """Return the vendor of the GPUs, by the capture's kind, its devices or its host calls."""
    for each in captures:
        if each.kind in _NVIDIA_ALONE:
            return NVIDIA
        if _rows(each.tables, "devices"):
            for vendor in each.tables["devices"]["vendor"].drop_nulls():
                return str(vendor)
        if _rows(each.tables, "api_calls"):
            calls = each.tables["api_calls"]["name"].drop_nulls().unique().cast(pl.String)
            if any(map(_HIP.match, calls)):
                return AMD
    return ""
