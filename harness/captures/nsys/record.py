"""How a workload runs under Nsight Systems, and how the report is exported to SQLite."""

from pathlib import Path

from harness.captures.nsys.kind import EXPORT, REPORT
from harness.evidence.kind import Argv

_DEFAULTS = (
    *("--trace=cuda,nvtx,cublas", "--sample=none", "--cpuctxsw=none", "--cuda-graph-trace=node"),
    *("--capture-range=cudaProfilerApi", "--capture-range-end=stop"),
)


def wrap(argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
    """Record only the workload's own profiler range; sampling off, as it needs privileges.

    A flag of the manifest replaces the default of the same option.
    """
    asked = {flag.partition("=")[0] for flag in flags}
    defaults = [flag for flag in _DEFAULTS if flag.partition("=")[0] not in asked]
    output = ("--force-overwrite=true", f"--output={out / REPORT}")
    return ["nsys", "profile", *defaults, *flags, *output, *argv]


def after(out: Path) -> list[Argv]:
    """Return the command that exports the report to SQLite."""
    flags = ("--type=sqlite", "--force-overwrite=true", f"--output={out / EXPORT}")
    return [["nsys", "export", *flags, str(out / REPORT)]]
