"""reports/<problem>/README.md: which claims hold on which GPU, where several report a study."""

from itertools import groupby
from pathlib import Path

from harness.analysis.claims import ClaimResult
from harness.ground import files
from harness.ground.errors import HarnessError
from harness.problem import manifest, state
from harness.problem.model import Problem
from harness.problem.names import MANIFEST
from harness.report import index, publish, verdicts
from harness.report.escape import Markdown, code, escape, link, prose, table
from harness.report.page import Page

_AT_ONCE = 4
"""GPUs beside each other in a table."""


def renew(reports: Path, problems: Path) -> list[HarnessError]:
    """Write the index, and the comparison of each problem with reports of several GPUs.

    Return the errors of the problems and reports that could not be read.
    """
    errors = index.renew(reports, problems)
    for name, group in groupby(index.reports(reports), key=lambda report: report.parent.name):
        folders = list(group)
        if len(folders) < 2 or not (problems / name / MANIFEST).is_file():
            continue
        try:
            problem = manifest.load(problems / name)
            pages = [publish.page_of(problem, folder) for folder in folders]
            of_gpus = [page for page in pages if page.target.device == "cuda"]
            if len(of_gpus) > 1:
                files.write_text(reports / name / "README.md", compared(problem, of_gpus))
        except HarnessError as error:
            if str(error) not in map(str, errors):
                errors.append(error)
    return errors


def compared(problem: Problem, pages: list[Page]) -> str:
    """Return the page of a study's claims GPU by GPU; each of ``pages`` is of another GPU."""
    by_claim = {
        claim.id: [
            next(result for result in page.results if result.claim.id == claim.id) for page in pages
        ]
        for claim in problem.claims
    }
    differing = [results for results in by_claim.values() if _differ(results)]
    alike = [results for results in by_claim.values() if not _differ(results)]
    parts = [
        f"# {escape(problem.title)}: GPU by GPU",
        "Which claims hold where: " + "; ".join(map(_counted, pages)) + ".",
    ]
    if older := [_outdated(page) for page in pages if page.changed]:
        parts.append(
            f"**Stale: {'; '.join(older)}.** What differs there may come from this, not from the"
            " GPU."
        )
    for title, group in (
        ("Claims whose verdict depends on the GPU", differing),
        ("Claims with one verdict on every GPU", alike),
    ):
        if group:
            parts += [f"## {title}", *_tables(pages, group)]
    return "\n\n".join(parts) + "\n"


def _differ(results: list[ClaimResult]) -> bool:
    """Return whether the GPUs that measured a claim disagree."""
    return len({result.verdict for result in results if result.verdict != "not measured"}) > 1


def _counted(page: Page) -> str:
    """Return a GPU's name, linked to its worklog, with its number of claims by verdict."""
    worklog = link(f"{page.folder.name}/README.md")
    counts = verdicts.tally(verdicts.by_verdict(page.results))
    return f"[{escape(page.target.name)}]({worklog}) {counts}"


def _outdated(page: Page) -> str:
    return escape(f"since the run on {page.target.name} {state.in_words(page.changed)} changed")


def _tables(pages: list[Page], group: list[list[ClaimResult]]) -> list[Markdown]:
    """Return the tables of claims, at most four GPUs beside each other."""
    tables = []
    for first in range(0, len(pages), _AT_ONCE):
        shown = pages[first : first + _AT_ONCE]
        head = ["claim", "bound", *(page.target.name for page in shown)]
        rows = [_row(results, first, len(shown)) for results in group]
        tables.append(table(head, rows, numeric_from=len(head), whole=True))
    return tables


def _row(results: list[ClaimResult], first: int, count: int) -> list[str]:
    claim = results[0].claim
    statement = Markdown(f"{code(claim.id)}: {prose(claim.statement)}")
    shown = results[first : first + count]
    return [statement, verdicts.promised(results[0]), *(_cell(result) for result in shown)]


def _cell(result: ClaimResult) -> Markdown:
    """Return a verdict with the value that decided it."""
    word = f"**{result.verdict}**" if result.verdict == "refuted" else result.verdict
    if result.measured.value is None:
        return Markdown(word)
    return Markdown(f"{word}: {verdicts.value(result)}")
