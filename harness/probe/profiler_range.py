"""The measured region: what the profilers record, and marks that all of them show."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from harness.probe.names import NVTX_DOMAIN

TRACE = "trace.json.gz"

_OTHERS_JOIN_S = 0.1
"""A profiler begins in further processes of the workload some ms after this one's call returned."""


@contextlib.contextmanager
def marked(name: str, device: str, number: int = 0) -> Iterator[None]:
    """Show a stretch of host time in torch's trace and, on a GPU, as an NVTX range.

    The range lies in the domain ``NVTX_DOMAIN``. Its category is the part of ``name`` before the
    colon ("phase", "step"), its payload is ``number``.
    """
    with torch.profiler.record_function(name):
        nvtx = _nvtx() if device == "cuda" else None
        if nvtx is None:
            yield
            return
        domain = nvtx.get_domain(NVTX_DOMAIN)
        category = name.partition(":")[0]
        domain.push_range(
            domain.get_event_attributes(message=name, category=category, payload=number)
        )
        try:
            yield
        finally:
            domain.pop_range()


def _nvtx() -> Any:
    """Return the package that marks ranges; None where an image of others lacks it.

    Under a profiler its absence shows: the reader finds fewer steps than the workload declared.
    """
    try:
        import nvtx
    except ImportError:
        return None
    return nvtx


def profiler(device: str, *, stacks: bool = False, shapes: bool = False) -> Any:
    """Return torch.profiler, which records the host and, on a GPU, its work.

    ``stacks``: Python's frames and calls of modules, too; ``shapes``: the inputs of operators.
    """
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    return torch.profiler.profile(activities=activities, with_stack=stacks, record_shapes=shapes)


@contextlib.contextmanager
def cuda_range() -> Iterator[None]:
    """Open the range of the CUDA profiler API that an outer profiler records."""
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    time.sleep(_OTHERS_JOIN_S)
    try:
        yield
        torch.cuda.synchronize()
    finally:
        torch.cuda.cudart().cudaProfilerStop()


def packages() -> dict[str, str]:
    """Return name and version of the packages that this process imported.

    They are Python, torch, triton and numpy, and the packages of the cell's environment. A module
    without ``__version__`` has the version of its distribution, "unknown" without one.
    """
    versions = {"python": sys.version.split()[0]}
    installed = _overlaid()
    for name in ("torch", *sorted(installed), "triton", "numpy"):
        module = sys.modules.get(name)
        if module is not None:
            version = getattr(module, "__version__", None) or installed.get(name, "unknown")
            versions[name] = str(version)
    return versions


def _overlaid() -> dict[str, str]:
    """Return the versions of the distributions in folders of ``PYTHONPATH``, by module name.

    pip names a distribution's folder ``name-version.dist-info``; the first folder on the path
    counts, as for an import.
    """
    versions: dict[str, str] = {}
    for folder in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        for path in Path(folder).glob("*.dist-info"):
            name, _, version = path.name.removesuffix(".dist-info").partition("-")
            versions.setdefault(name, version)
    return versions
