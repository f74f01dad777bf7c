"""Writes docs/findings.md from the findings: ``python -m tests.support.findings_page``."""

from pathlib import Path
from typing import get_args

from harness.analysis.diagnose.finding import MEMORY, Level
from harness.analysis.diagnose.known_findings import kinds
from harness.ground import files
from harness.problem.manifest import find
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "findings.md"
REPORT = Path("reports/6-bottleneck-zoo/nvidia-h200/pages")
SPECIMENS = Path("problems/6-bottleneck-zoo/specimens")
_HEAD = """\
# Findings

What `harness diagnose` can name, top down: first what a serving engine does with its requests,
then what several GPUs do, then one GPU's timeline, then how a kernel uses the SMs, the warp
schedulers, a warp and a thread; then memory. Read a slow program in this order, and go down a level
only where the one above is healthy. Beside these, `healthy` says that nothing costs enough to
matter, and `abstain` that the evidence does not reach, with what to capture next.

Each finding leads to where [problem 6](../problems/6-bottleneck-zoo/README.md) shows it.
"""


def text() -> str:
    """Return the page."""
    parts = [_HEAD]
    for level in get_args(Level):
        rows = [
            f"| [`{kind.id}`](../{_place(kind.id)}) | {kind.title} |"
            for kind in kinds().values()
            if kind.level == level
        ]
        if rows:
            title = level[:1].upper() + level[1:]
            parts.append(
                "\n".join([f"## {title}\n", "| finding | what is wrong |", "| --- | --- |"])
            )
            parts[-1] += "\n" + "\n".join(rows) + "\n"
    return "\n".join(parts)


def _place(finding: str) -> str:
    """Return where a finding is shown: its page in the report, until then its specimens' folder.

    One that no specimen shows is on the page of memory snapshots, or of the diagnosis.
    """
    page = REPORT / f"{finding}.md"
    if (ROOT / page).exists():
        return page.as_posix()
    cases = find(ROOT / "problems", "6").cases.values()
    shown = (case.params["specimen"] for case in cases if case.params["finding"] == finding)
    specimen = next(shown, None)
    if specimen is None:
        return "docs/memory.md" if kinds()[finding].level == MEMORY else "docs/diagnosis.md"
    return (SPECIMENS / str(specimen)).parent.as_posix()


if __name__ == "__main__":
    files.write_text(PAGE, text())
