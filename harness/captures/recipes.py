"""How each kind of capture is recorded: what wraps the workload and what must be left behind."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.problem import CaptureKind

Argv = list[str]


@dataclass(frozen=True)
class Recipe:
    """One kind's recording.

    ``wrap(argv, out, flags)`` gives the command that runs the workload under the profiler,
    ``after(out)`` what turns its report into files that can be read without it, ``leaves`` the
    files that must then exist, and ``counted(log)`` what the profiler says it recorded.
    """

    tool: Literal["nsys", "ncu"] | None
    leaves: tuple[str, ...]
    wrap: Callable[[Argv, Path, tuple[str, ...]], Argv] = lambda argv, _out, _flags: argv
    after: Callable[[Path], list[Argv]] = lambda _out: []
    counted: Callable[[str], dict[str, int]] = field(default=lambda _log: {})


def _nsys(argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
    """Record only the workload's own profiler range; sampling off, as it needs privileges."""
    return [
        *("nsys", "profile", "--trace=cuda,nvtx,cublas", "--sample=none", "--cpuctxsw=none"),
        *("--cuda-graph-trace=node", "--capture-range=cudaProfilerApi", "--capture-range-end=stop"),
        *(*flags, "--force-overwrite=true", f"--output={out / 'trace.nsys-rep'}", *argv),
    ]


def _nsys_export(out: Path) -> list[Argv]:
    report, export = out / "trace.nsys-rep", out / "trace.sqlite"
    flags = ("--type=sqlite", "--force-overwrite=true", f"--output={export}")
    return [["nsys", "export", *flags, str(report)]]


def _ncu(argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
    """Read counters inside the workload's own range; the card's clocks stay as they are."""
    return [
        *("ncu", "--clock-control=none", "--profile-from-start=off", "--config-file=off"),
        *(*flags, "--force-overwrite", f"--export={out / 'counters.ncu-rep'}", *argv),
    ]


def _ncu_counted(log: str) -> dict[str, int]:
    """Count the kernels that ncu says it profiled: its reader opens a cut report without a word."""
    return {"kernels": len(re.findall(r"^==PROF== Profiling ", log, re.MULTILINE))}


RECIPES: dict[CaptureKind, Recipe] = {
    "timing": Recipe(tool=None, leaves=()),
    "torch": Recipe(tool=None, leaves=("trace.json.gz",)),
    "nsys": Recipe("nsys", ("trace.nsys-rep", "trace.sqlite"), _nsys, _nsys_export),
    "ncu": Recipe("ncu", ("counters.ncu-rep",), _ncu, counted=_ncu_counted),
    "memory": Recipe(tool=None, leaves=("memory.json.gz",)),
}
