"""The committed reports: to read where they lie, or as copies; no test writes there."""

import shutil
from pathlib import Path

from tests.support.paths import ROOT

REPORTS = ROOT / "reports"
COMMITTED = sorted(
    path.parent.parent
    for path in REPORTS.glob("*/*/evidence/provenance.json")
    if path.parent.parent.name != "cpu"
)


KEPT = ROOT / "tests" / "data" / "reports" / "1-torchao-float8" / "nvidia-h200"
"""Evidence of a few cells with every kind of capture: see tests/data/keep_report.py."""


def committed(problem: str) -> Path:
    """Return the folder of a problem's first committed report."""
    return next(folder for folder in COMMITTED if folder.parent.name == problem)


def copied(problem: str, to: Path) -> Path:
    """Copy the evidence of a problem's first committed report below ``to``, as reports/ has it."""
    report = committed(problem)
    copy = to / problem / report.name
    shutil.copytree(report / "evidence", copy / "evidence")
    return copy


def state() -> dict[str, tuple[int, int]]:
    """Return size and time of change of every file below reports/."""
    files = {path: path.stat() for path in REPORTS.rglob("*") if path.is_file()}
    return {str(path): (stat.st_size, stat.st_mtime_ns) for path, stat in files.items()}
