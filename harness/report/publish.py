"""Writes reports/<problem>/<target>/: evidence, captures, figures and the worklog, as one."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import files
from harness.analysis import claims
from harness.analysis.metrics import Metrics
from harness.extract import door
from harness.extract import run as extraction
from harness.problem.model import Problem
from harness.report import completeness, index, kept_captures
from harness.report.page import Page
from harness.report.worklog import render as render_template
from harness.store import run_folder


@dataclass(frozen=True)
class Published:
    """Where a report was written, and how many of its captures went to the store.

    ``loss`` says what the report that stands would have lost, if the new one is beside it.
    """

    folder: Path
    loss: str = ""
    outside_git: int = 0


def publish(
    problem: Problem, run: run_folder.Run, reports: Path, store: Path, *, replace: bool = False
) -> Published:
    """Extract a run and write its report.

    The report's folder changes as a whole or not at all. Where the run lacks cells or captures of
    the report that stands, the new one is written beside it unless ``replace`` is set. ``store``
    takes the captures that git has no room for.
    """
    target = reports / problem.folder.name / files.safe_name(run.provenance.target.slug)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as scratch:
        built = Path(scratch) / target.name
        tables = extraction.extract(run, built / "evidence")
        render(problem, built)
        page = (built / "README.md").read_text(encoding="utf-8")
        captures = kept_captures.keep(
            problem, run, completeness.measured(tables), page, built, store
        )
        loss = "" if replace else completeness.loss(target, built)
        folder = target.with_name(target.name + index.PARTIAL) if loss else target
        with files.atomic_folder(folder) as building:
            for part in built.iterdir():
                part.rename(building / part.name)
    return Published(folder, loss, sum(not capture.in_git for capture in captures))


def render(problem: Problem, folder: Path) -> None:
    """Write worklog and figures from the evidence that stands in ``folder``."""
    report = door.report(folder)
    metrics = Metrics(problem, report.tables, report.origin.gpus)
    judged = claims.judge(problem, metrics, report.origin.run.target.device)
    page = Page(problem, metrics, judged, report.origin, report.tables)
    text = render_template(problem.folder / "worklog.md.j2", page)
    with files.atomic_folder(folder / "figures") as building:
        for name, svg in page.figures.items():
            (building / name).write_text(svg, encoding="utf-8")
    files.write_text(folder / "README.md", text)
