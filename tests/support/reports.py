"""The committed reports, and copies of them: no test writes where they lie."""

import shutil
from pathlib import Path

from tests.support.paths import ROOT

REPORTS = ROOT / "reports"
COMMITTED = sorted(
    path.parent.parent
    for path in REPORTS.glob("*/*/evidence/provenance.json")
    if path.parent.parent.name != "cpu"
)


def copied(problem: str, to: Path) -> Path:
    """Copy the evidence of a problem's first committed report below ``to``, as reports/ has it."""
    report = next(folder for folder in COMMITTED if folder.parent.name == problem)
    copy = to / problem / report.name
    shutil.copytree(report / "evidence", copy / "evidence")
    return copy
