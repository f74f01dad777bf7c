"""What a kind of capture is: how it is recorded, what it must leave, how that becomes evidence."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.evidence.tables import Tables

Argv = list[str]


@dataclass(frozen=True)
class Kind:
    """One kind of capture.

    ``wrap(argv, out, flags)`` gives the command that runs the workload under the profiler and
    ``after(out)`` those that turn its report into files which need no profiler. ``leaves`` are the
    files that must then exist, ``counted(log)`` is what the profiler says it recorded, and ``read``
    turns ``artifact`` into tables.
    """

    tool: Literal["nsys", "ncu"] | None = None
    leaves: tuple[str, ...] = ()
    wrap: Callable[[Argv, Path, tuple[str, ...]], Argv] = lambda argv, _out, _flags: argv
    after: Callable[[Path], list[Argv]] = lambda _out: []
    counted: Callable[[str], dict[str, int]] = field(default=lambda _log: {})
    artifact: str | None = None
    read: Callable[[Path], Tables] | None = None
