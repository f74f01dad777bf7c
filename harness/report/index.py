"""reports/README.md: every report, by problem and target."""

from pathlib import Path

from harness import files
from harness.extract import run as extraction
from harness.report.escape import Markdown, table


def reports(folder: Path) -> list[Path]:
    """Return each report's folder, by problem and target."""
    return sorted(
        path.parent.parent for path in folder.glob(f"*/*/evidence/{extraction.PROVENANCE}")
    )


def write(folder: Path) -> None:
    """Write the index of all reports; one made on a CPU stays out, it is not committed."""
    rows = []
    for report in reports(folder):
        run = extraction.provenance(report / "evidence")["run"]
        if run["target"]["device"] == "cpu":
            continue
        link = f"[{report.parent.name}]({report.parent.name}/{report.name}/README.md)"
        rows.append([Markdown(link), run["target"]["name"], run["started"][:10]])
    text = "# Worklogs\n\nEach was made by `harness run` on the GPU that it names.\n\n"
    files.write_text(
        folder / "README.md", f"{text}{table(['worklog', 'GPU', 'measured'], rows, 3)}\n"
    )
