"""The measured region: what the profilers record, and marks that all of them show."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from harness.probe.names import NVTX_DOMAIN

TRACE = "trace.json.gz"


@contextlib.contextmanager
def marked(name: str, device: str, number: int = 0) -> Iterator[None]:
    """Show a stretch of host time in torch's trace and, on a GPU, as an NVTX range.

    The range lies in the domain ``NVTX_DOMAIN``. Its category is the part of ``name`` before the
    colon ("phase", "step"), its payload is ``number``.
    """
    with torch.profiler.record_function(name):
        if device != "cuda":
            yield
            return
        import nvtx

        domain = nvtx.get_domain(NVTX_DOMAIN)
        category = name.partition(":")[0]
        domain.push_range(
            domain.get_event_attributes(message=name, category=category, payload=number)
        )
        try:
            yield
        finally:
            domain.pop_range()


@contextlib.contextmanager
def traced(device: str, out: Path) -> Iterator[None]:
    """Record with torch.profiler and write its trace into the folder ``out``."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        yield
    profile.export_chrome_trace(str(out / TRACE))


@contextlib.contextmanager
def cuda_range() -> Iterator[None]:
    """Open the range of the CUDA profiler API that an outer profiler records."""
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    try:
        yield
        torch.cuda.synchronize()
    finally:
        torch.cuda.cudart().cudaProfilerStop()


def packages() -> dict[str, str]:
    """Return name and version of the packages that this process imported.

    They are Python, torch, triton and numpy, and what the cell's environment lays over them.
    """
    versions = {"python": sys.version.split()[0]}
    for name in ("torch", *_overlaid(), "triton", "numpy"):
        module = sys.modules.get(name)
        if module is not None:
            versions[name] = str(getattr(module, "__version__", "unknown"))
    return versions


def _overlaid() -> list[str]:
    """Return the distributions that pip put into a folder of ``PYTHONPATH``, as modules' names."""
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return sorted(
        path.name.partition("-")[0]
        for folder in filter(None, folders)
        for path in Path(folder).glob("*.dist-info")
    )
