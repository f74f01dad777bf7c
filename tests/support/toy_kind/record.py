"""The program toyprof, and how a workload runs under it."""

import re
from pathlib import Path

from harness.evidence.kind import Argv
from tests.support.toy_kind.kind import EXPORT, REPORT

PROGRAM = r"""#!/bin/bash
# Runs a workload that writes a line "kernel nanoseconds" a launch to $TOY_LAUNCHES.
if [ "$1" = --version ]; then echo "toyprof 2025.1"; exit; fi
if [ "$1" = export ]; then (echo TOY1; cat "$2") > "$3"; exit; fi
report=$1; shift
TOY_LAUNCHES=$report "$@" || exit
echo "toyprof: $(grep -c . "$report") launches"
"""


def wrap(argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
    """Run the workload under toyprof, which leaves its report."""
    return ["toyprof", str(out / REPORT), *flags, *argv]


def after(out: Path) -> list[Argv]:
    """Return the command that exports the report."""
    return [["toyprof", "export", str(out / REPORT), str(out / EXPORT)]]


def counted(log: str) -> dict[str, int]:
    """Return how many launches toyprof says it recorded."""
    return {"kernels": sum(map(int, re.findall(r"^toyprof: (\d+) launches$", log, re.MULTILINE)))}
