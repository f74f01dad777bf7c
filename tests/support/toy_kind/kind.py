"""The kind ``toy``: a report of the program toyprof, exported to text."""

import re
from pathlib import Path

from harness.captures.checks import same
from harness.evidence.kind import Argv, Counts, Format, Kept, Kind
from harness.evidence.tables import Tables, frame

REPORT, EXPORT = "kernels.toyrep", "kernels.toy"
PROGRAM = r"""#!/bin/bash
# Runs a workload that writes a line "kernel nanoseconds" a launch to $TOY_LAUNCHES.
if [ "$1" = --version ]; then echo "toyprof 2025.1"; exit; fi
if [ "$1" = export ]; then (echo TOY1; cat "$2") > "$3"; exit; fi
report=$1; shift
TOY_LAUNCHES=$report "$@" || exit
echo "toyprof: $(grep -c . "$report") launches"
"""


class Toy(Kind):
    """The launches' durations as counters."""

    name = "toy"
    title = "a toyprof report (.toy)"
    cost = 9
    formats = (Format(re.compile(rb"TOY1\n"), plain_name=EXPORT),)
    tool = "toyprof"
    leaves = (REPORT, EXPORT)
    artifact = EXPORT
    fills = ("counters",)
    measures = ("kernel_time",)
    compared_by = "counters"
    kept = (Kept(EXPORT, rank=9, compressed=True),)

    def wrap(self, argv: Argv, out: Path, flags: tuple[str, ...]) -> Argv:
        """Run the workload under toyprof, which leaves its report."""
        return ["toyprof", str(out / REPORT), *flags, *argv]

    def after(self, out: Path) -> list[Argv]:
        """Return the command that exports the report."""
        return [["toyprof", "export", str(out / REPORT), str(out / EXPORT)]]

    def counted(self, log: str) -> dict[str, int]:
        """Return how many launches toyprof says it recorded."""
        lines = re.findall(r"^toyprof: (\d+) launches$", log, re.MULTILINE)
        return {"kernels": sum(map(int, lines))}

    def read(self, path: Path) -> Tables:
        """Return the launches' durations."""
        launches = [line.split() for line in path.read_text().splitlines()[1:]]
        columns: dict[str, list[object]] = {
            "launch": list(range(len(launches))),
            "name": [name for name, _ in launches],
            "metric": ["gpu__time_duration.sum"] * len(launches),
            "unit": ["ns"] * len(launches),
            "value": [float(duration) for _, duration in launches],
        }
        return {"counters": frame("counters", columns)}

    def check(self, counts: Counts, tables: Tables, path: Path) -> None:
        """Compare the launches with those that toyprof counted."""
        same(path, "launches", counts.counted["kernels"], tables["counters"].height)

    def conditions(self, path: Path, tables: Tables) -> dict[str, str]:
        """Return the version of the export's format."""
        return {"toyprof format": path.read_text()[3:4]}


KIND = Toy()
