"""Writes reports/<problem>/<target>/: evidence, captures, figures, worklog and pages, as one."""

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from harness.analysis import claims
from harness.analysis.metrics import Metrics
from harness.analysis.verdict import TESTED
from harness.evidence import provenance
from harness.extract import door
from harness.extract import run as extraction
from harness.ground import bounded, confined, files
from harness.ground.errors import HarnessError, ManifestError
from harness.problem.model import Problem
from harness.report import card, completeness, figure_files, index, kept_captures
from harness.report.page import Page
from harness.store import run_folder

PAGES = "pages"
"""The folder of the pages under a worklog: of templates in a problem, of Markdown in a report."""

_TEMPLATE = ".md.j2"
WORKLOG = "worklog.md.j2"
"""The template of a problem's worklog, in its folder."""

SHORT = Path(__file__).with_name("short.md.j2")
"""The page of any problem after a short run, or a run on a CPU."""

_DRAWING_S = 180.0
"""CPU seconds that pages and figures of any report may take; the published ones take up to 45."""

DEFAULT = Path(__file__).with_name("default.md.j2")
"""The worklog of a problem that has no template."""


@dataclass(frozen=True)
class Published:
    """Where a report was written, and how many of its captures went to the store.

    ``loss`` says what the report that stands would have lost, if the new one is beside it.
    ``unfinished``: how many of how many planned cells the run has, if not all.
    """

    folder: Path
    loss: str = ""
    outside_git: int = 0
    unfinished: tuple[int, int] | None = None


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
        _note_met(problem, built, target.parent)
        prepared = kept_captures.prepare(problem, run, completeness.measured(tables), built)
        pages = render(problem, built, target.parent)
        captures = kept_captures.divide(prepared, "\n".join(pages.values()), built, store)
        loss = "" if replace else completeness.loss(target, built)
        folder = target.with_name(target.name + index.PARTIAL) if loss else target
        with files.atomic_folder(folder) as building:
            for part in built.iterdir():
                part.rename(building / part.name)
    outside_git = sum(not capture.in_git for capture in captures)
    return Published(folder, loss, outside_git, door.provenance_of(folder).unfinished)


def _note_met(problem: Problem, built: Path, others: Path) -> None:
    """Record in a new report's evidence which runs of the reports in ``others`` met its claims.

    They reproduced the claims as these stand now, or had recorded of an earlier run that it did.
    """
    met: dict[str, set[str]] = {}
    for report in (each for each in index.reports(others.parent) if each.parent == others):
        with contextlib.suppress(HarnessError):  # one that is damaged tells nothing
            page = page_of(problem, report)
            for result in page.results:
                runs = met.setdefault(result.claim.id, set())
                if result.verdict in TESTED:
                    runs.update(page.provenance.met.get(result.claim.id, ()))
                if result.verdict == "reproduced":
                    runs.add(page.provenance.run.id)
    evidence = provenance.load(built / "evidence")
    elsewhere = {name: runs - {evidence.run.id} for name, runs in met.items()}
    earlier = {name: tuple(sorted(runs)) for name, runs in elsewhere.items() if runs}
    provenance.write(built / "evidence", evidence.model_copy(update={"met": earlier}))


def render(problem: Problem, folder: Path, others: Path | None = None) -> dict[str, str]:
    """Write worklog, pages and figures from the evidence and captures that stand in ``folder``.

    A short run and a run on a CPU get the short page, which is the same for every problem; that of
    a CPU shows a GPU's report from the folder ``others``, the one around ``folder`` if None. Return
    the text of each page by its path in ``folder``.
    """
    return draw(problem, folder, others)[1]


def draw(problem: Problem, folder: Path, others: Path | None = None) -> tuple[Page, dict[str, str]]:
    """Do what :func:`render` does; return the data of the pages, too."""
    bounded.allow(folder, confined.budget(folder / "evidence", _DRAWING_S))
    page = page_of(problem, folder)
    if page.target.device == "cpu":
        page = replace(page, reference=_of_gpu(problem, others or folder.parent))
    texts = _draw(page)
    _write(folder / "figures", figure_files.texts(page.figures))
    _write(folder / PAGES, {Path(name).name: texts[name] for name in texts if "/" in name})
    files.write_text(folder / "README.md", texts["README.md"])
    card.write(page, folder)
    return page, texts


def _of_gpu(problem: Problem, reports: Path) -> Page | None:
    """Return the page of the problem's first report of a GPU in a folder, None if none is whole."""
    for report in (each for each in index.reports(reports.parent) if each.parent == reports):
        with contextlib.suppress(HarnessError):
            page = page_of(problem, report)
            if page.target.device != "cpu":
                return page
    return None


def _draw(page: Page) -> dict[str, str]:
    """Fill the figures of a report's page; return the text of its worklog and pages, by path."""
    run = page.provenance.run
    if run.is_short or run.target.device == "cpu":
        return {"README.md": _rendered(SHORT, page)}
    return _worklog(page)


def _worklog(page: Page) -> dict[str, str]:
    """Return the problem's worklog, or the default one, and the pages under it, by path."""
    folder = page.problem.folder
    own = folder / WORKLOG
    template = own if os.path.lexists(own) else DEFAULT
    texts = {"README.md": _rendered(template, page)}
    sub_page = replace(page, root="../")
    if (folder / PAGES).is_symlink():
        raise ManifestError("is a link", where=folder / PAGES, remedy="put the folder itself there")
    for template in sorted((folder / PAGES).glob(f"*{_TEMPLATE}")):
        name = files.safe_name(template.name.removesuffix(_TEMPLATE))
        texts[f"{PAGES}/{name}.md"] = _rendered(template, sub_page)
    return texts


def _rendered(template: Path, page: Page) -> str:
    from harness.report import worklog  # with jinja2 and all sections

    return worklog.render(template, page)


def page_of(problem: Problem, folder: Path) -> Page:
    """Return the data of a report's pages: the evidence in ``folder``, with its claims judged."""
    report = door.report(folder)
    metrics = Metrics(problem, report.tables, report.origin.gpus)
    judged = claims.of_run(problem, metrics, report.origin.run)
    return Page(problem, metrics, judged, report.origin, report.tables, folder)


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Replace a folder by one of these files, by name; without files, remove it."""
    if not texts:
        shutil.rmtree(folder, ignore_errors=True)
        return
    with files.atomic_folder(folder) as building:
        for name, text in texts.items():
            (building / name).write_text(text, encoding="utf-8")
