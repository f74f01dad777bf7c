"""reports/README.md: every report, by problem and target."""

from pathlib import Path

from harness import files
from harness.evidence import provenance
from harness.report.escape import Markdown, table

PARTIAL = ".partial"
"""Ends the folder's name of a report that holds less than the one it would have replaced."""


def reports(folder: Path) -> list[Path]:
    """Return each report's folder, by problem and target; partial and unfinished ones stay out."""
    folders = (path.parent.parent for path in folder.glob(f"*/*/evidence/{provenance.FILE}"))
    return sorted(
        report
        for report in folders
        if not report.name.startswith(".") and not report.name.endswith(PARTIAL)
    )


def write(folder: Path) -> None:
    """Write the index of all reports; those made on a CPU are not committed and stay out."""
    rows = []
    for report in reports(folder):
        run = provenance.load(report / "evidence").run
        if run.target.device == "cpu":
            continue
        link = f"[{report.parent.name}]({report.parent.name}/{report.name}/README.md)"
        rows.append([Markdown(link), run.target.name, (run.started or "")[:10]])
    text = "# Worklogs\n\nEach was made by `harness run` on the GPU that it names.\n\n"
    files.write_text(
        folder / "README.md", f"{text}{table(['worklog', 'GPU', 'measured'], rows, 3)}\n"
    )
