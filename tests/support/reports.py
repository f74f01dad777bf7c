"""The committed reports and the kept one: to read where they lie, or as copies."""

import shutil
from pathlib import Path

from harness.evidence import provenance
from harness.evidence.provenance import EvidenceProvenance
from harness.problem import manifest
from harness.problem.model import Problem
from tests.support.paths import DATA, ROOT

REPORTS = ROOT / "reports"
COMMITTED = sorted(
    path.parent.parent
    for path in REPORTS.glob("*/*/evidence/provenance.json")
    if path.parent.parent.name != "cpu"
)
"""A test of these holds for whatever cells they have, and writes nothing there."""

KEPT = DATA / "reports" / "1-torchao-float8" / "nvidia-h200"
"""A few cells of an H200 with every kind of capture: see tests/data/keep_report.py."""


def kept_study() -> Problem:
    """Return the problem that declares the cells of the kept report."""
    return manifest.load(KEPT.parent)


def of_unknown_scripts() -> EvidenceProvenance:
    """Return the kept report's provenance for pages of other problems, without its scripts."""
    known = provenance.load(KEPT / "evidence")
    run = known.run.model_copy(update={"sources_sha256": None, "resumed": ()})
    return known.model_copy(update={"run": run})


def committed(problem: str) -> Path:
    """Return the folder of a problem's first committed report."""
    return next(folder for folder in COMMITTED if folder.parent.name == problem)


def copied(report: Path, to: Path) -> Path:
    """Copy a report's evidence and captures below ``to``, as reports/ has them."""
    copy = to / report.parent.name / report.name
    for part in ("evidence", "captures"):
        shutil.copytree(report / part, copy / part)
    return copy


def state() -> dict[str, tuple[int, int]]:
    """Return size and time of change of every file below reports/."""
    files = {path: path.stat() for path in REPORTS.rglob("*") if path.is_file()}
    return {str(path): (stat.st_size, stat.st_mtime_ns) for path, stat in files.items()}
