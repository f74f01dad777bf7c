"""How a workload runs under Nsight Systems, and how the report is exported to SQLite."""

from pathlib import Path

from harness.captures.kind import Argv
from harness.captures.nsys.kind import EXPORT, REPORT


def wrap(argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
    """Record only the workload's own profiler range; sampling off, as it needs privileges."""
    return [
        *("nsys", "profile", "--trace=cuda,nvtx,cublas", "--sample=none", "--cpuctxsw=none"),
        *("--cuda-graph-trace=node", "--capture-range=cudaProfilerApi", "--capture-range-end=stop"),
        *(*flags, "--force-overwrite=true", f"--output={out / REPORT}", *argv),
    ]


def after(out: Path) -> list[Argv]:
    """Return the command that exports the report to SQLite."""
    flags = ("--type=sqlite", "--force-overwrite=true", f"--output={out / EXPORT}")
    return [["nsys", "export", *flags, str(out / REPORT)]]
