"""Where each finding is shown: a page of a report, or of a study that has no report yet."""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from harness.analysis import claims
from harness.analysis.diagnose.known_findings import kinds
from harness.analysis.metrics import Metrics
from harness.evidence import provenance, tables
from harness.evidence.provenance import EvidenceProvenance, Provenance, TargetRecord
from harness.ground.errors import ManifestError
from harness.problem.model import Problem
from harness.report.page import Page
from harness.site.tree import Tree

_FOLDER, _TEMPLATE = "pages", ".md.j2"
_NO_REPORT = "\n\n*There is no report of this study yet, so the page has no measured number.*\n"


def add(tree: Tree, problems: Iterable[Problem]) -> dict[str, str]:
    """Return the page of each finding that has one, by the finding's id.

    A page of a report has the finding's name. For the others the templates of ``problems``, which
    have no report, are rendered without evidence and added.
    """
    paths = {
        PurePosixPath(path).stem: path
        for path in tree.pages
        if PurePosixPath(path).parent.name == _FOLDER and PurePosixPath(path).stem in kinds()
    }
    for problem in problems:
        for template, text in _unmeasured(problem, kinds().keys() - paths):
            id_ = template.name.removesuffix(_TEMPLATE)
            path = (template.parent / f"{id_}.md").relative_to(tree.checkout).as_posix()
            title, _, rest = text.strip().partition("\n")
            tree.pages[path] = f"{title}{_NO_REPORT}{rest}\n"
            paths[id_] = path
    return paths


def _unmeasured(problem: Problem, wanted: set[str]) -> Iterator[tuple[Path, str]]:
    """Yield the templates of a problem that show findings, with their texts without evidence.

    A template that asks for what only evidence has yields none.
    """
    folder = problem.folder / _FOLDER
    templates = [folder / f"{id_}{_TEMPLATE}" for id_ in sorted(wanted)]
    templates = [template for template in templates if template.is_file()]
    if not templates:
        return
    from harness.report.worklog import render

    page = _without_evidence(problem)
    for template in templates:
        try:
            yield template, render(template, page)
        except ManifestError:
            continue


def _without_evidence(problem: Problem) -> Page:
    """Return the page of a problem that nobody has run."""
    empty = {name: tables.unfilled(name) for name in tables.SCHEMAS}
    run = Provenance(
        version=provenance.VERSION,
        id="",
        problem=problem.folder.name,
        target=TargetRecord(name="this machine", slug="none", device="cuda"),
    )
    metrics = Metrics(problem, empty)
    judged = claims.judge(problem, metrics, "cuda")
    return Page(problem, metrics, judged, EvidenceProvenance(run=run, cells=()), empty, root="../")
