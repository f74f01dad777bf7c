"""What another tool says of the zoo's timelines, graded as the diagnosis is.

    python benchmarks/other_tools.py RUN NSYS_AI >docs/other-tools.md

RUN is a whole run of problem 6, NSYS_AI the program nsys-ai (github.com/GindaChen/nsys-ai). Its
skill ``root_cause_matcher`` matches a profile against known patterns, without a language model.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from timed import ROOT

NAMED = {
    "Compute-Communication Imbalance": {"exposed-communication"},
    "Continuous H2D Transfers": {"pageable-copy", "serialised-copy", "data-starved"},
    "Excessive H2D Transfers": {"pageable-copy", "serialised-copy", "data-starved"},
    "Excessive Synchronization": {"host-sync"},
    "GPU Bubbles (Pipeline Stalls)": {
        *("host-bound", "launch-bound", "host-sync", "data-starved", "compile-in-loop"),
        *("allocator-churn", "pageable-copy", "serialised-copy"),
    },
    "H2D Transfer Spike": {"pageable-copy", "serialised-copy"},
    "Inefficient NCCL Communicator": {"exposed-communication"},
    "Layer NCCL Hotspot": {"exposed-communication"},
    "NCCL Serialization": {"exposed-communication", "straggler"},
    "Pageable Memory in Async Memcpy": {"pageable-copy"},
    "Pipeline Imbalance": {"straggler"},
    "Small Kernel Overhead": {"launch-bound"},
    "Synchronous Memcpy": {"pageable-copy", "serialised-copy"},
}
"""The findings that a pattern's text leads to: each counts as right, which favours the tool."""
_ALARMS = ("critical", "warning")

_INTRO = """# Another tool on the zoo's timelines

`nsys-ai {version}` ([GindaChen/nsys-ai](https://github.com/GindaChen/nsys-ai)) matches an nsys
profile against patterns of root causes, without a language model
(`nsys-ai skill run root_cause_matcher`). Here it gets the profiles of
[problem 6](../problems/6-bottleneck-zoo/README.md): of each specimen and of its healthy twin. A
pattern counts as right if its text leads to what was planted, whatever else it leads to
([`other_tools.py`](../benchmarks/other_tools.py) lists which); the diagnosis is graded by the one
finding that it names first. HolisticTraceAnalysis and TraceLens print tables of a trace and rank no
cause, so there is nothing to grade.
"""


@dataclass(frozen=True)
class Row:
    """A specimen: what was planted, and the patterns (name, severity) of it and of its twin."""

    case: str
    planted: str
    sick: list[tuple[str, str]]
    healthy: list[tuple[str, str]]

    @property
    def first(self) -> bool:
        """Return whether the first pattern leads to what was planted."""
        return bool(self.sick) and self._leads(self.sick[0][0])

    @property
    def listed(self) -> bool:
        """Return whether any pattern does."""
        return any(self._leads(name) for name, _ in self.sick)

    @property
    def alarm(self) -> bool:
        """Return whether the twin gets a warning or worse."""
        return any(severity in _ALARMS for _, severity in self.healthy)

    def _leads(self, name: str) -> bool:
        return self.planted in NAMED.get(name, set())


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("nsys_ai")
    options = parser.parse_args()
    rows = list(graded(options.run, options.nsys_ai))
    if not rows:
        sys.exit(f"{options.run}: no nsys captures of both twins")
    version = subprocess.run(
        [Path(options.nsys_ai).parent / "python", "-c", _VERSION],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    print(_INTRO.format(version=version))
    first, listed, alarms = (
        sum(getattr(row, name) for row in rows) for name in ("first", "listed", "alarm")
    )
    print(
        f"Of {len(rows)} specimens the first pattern leads to what was planted in {first}, any"
        f" pattern in {listed}; {alarms} of the healthy twins get a warning.\n"
    )
    print("| specimen | planted | patterns, in the tool's order | of the twin |")
    print("| --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row.case} | `{row.planted}` | {shown(row.sick)} | {shown(row.healthy)} |")


_VERSION = "import importlib.metadata as known; print(known.version('nsys-ai'))"


def graded(run: Path, nsys_ai: str) -> Iterator[Row]:
    """Yield a row for each case of a run of which both twins have a capture by nsys."""
    from harness.problem import manifest
    from harness.report import own_sections

    study = manifest.find(ROOT / "problems", "6")
    grading = own_sections.load(study.folder).grading
    for case in study.cases:
        exports = [
            next(run.glob(f"cells/{case}.{variant}.nsys.*/trace.sqlite"), None)
            for variant in (study.baseline, grading.twin_of(study))
        ]
        planted = grading.planted(study, case)
        if planted and all(exports):
            sick, healthy = (patterns(path, nsys_ai) for path in exports if path)
            yield Row(case, planted, sick, healthy)


def patterns(export: Path, nsys_ai: str) -> list[tuple[str, str]]:
    """Return name and severity of the patterns that nsys-ai finds in an export, in its order."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(export, folder)  # it leaves caches beside the file
        call = [nsys_ai, "skill", "run", "root_cause_matcher", copy, "--format", "json"]
        done = subprocess.run(call, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        return []
    return [(row["pattern"], row["severity"]) for row in json.loads(done.stdout)]


def shown(found: list[tuple[str, str]]) -> str:
    """Return patterns as a cell of the table."""
    return ", ".join(f"{name} ({severity})" for name, severity in found) or "–"


if __name__ == "__main__":
    main()
