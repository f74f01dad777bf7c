"""How a workload runs under Nsight Compute, and how many kernels that says it profiled."""

import re
from pathlib import Path

from harness.captures.ncu.kind import REPORT
from harness.evidence.kind import Argv


def wrap(argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
    """Read counters inside the workload's own range; ncu does not lock the GPU's clocks."""
    return [
        *("ncu", "--clock-control=none", "--profile-from-start=off", "--config-file=off"),
        *(*flags, "--force-overwrite", f"--export={out / REPORT}", *argv),
    ]


def counted(log: str) -> dict[str, int]:
    """Return the number of kernels that ncu reports as profiled."""
    return {"kernels": len(re.findall(r"^==PROF== Profiling ", log, re.MULTILINE))}
