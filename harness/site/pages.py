"""What stands on the site: the worklogs of reports, what belongs to each, and the documentation."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from harness.ground.plain import plain
from harness.problem.model import Problem
from harness.report import index
from harness.report.page import Page
from harness.site import (
    capture_page,
    claim_page,
    diagrams,
    figures,
    finding_pages,
    kernel_page,
    timelines,
)
from harness.site.build import Navigation, Sources
from harness.site.terms import terms
from harness.site.tree import Tree

_INDEX = "docs/README.md"
"""The tree of the documentation: a heading a kind, below it the pages of that kind."""
_CLAIM = re.compile(r'(<a id="([\w.-]+)"></a>)(`[\w.-]+`)')
"""A claim's name in the table of a worklog; on the site it leads to the claim's evidence."""
_HOME = Path(__file__).with_name("home.md")
"""What stands above the cards of the home page: three questions, and where each leads."""


def sources(checkout: Path, studies: Sequence[Page], problems: Iterable[Problem] = ()) -> Sources:
    """Return the sources from which the site of these reports is built.

    The reports lie in ``checkout``; ``problems`` are those without a report, whose pages may show
    findings. Raises HarnessError for a report that cannot be shown.
    """
    tree = Tree(checkout)
    documents = _documents(tree)
    worklogs = [_add_worklog(tree, study) for study in studies]
    without = list(problems)
    findings = finding_pages.add(tree, without)
    panels = timelines.Panels(checkout)
    navigation: Navigation = [{"Worklogs": "index.md"}]
    for study, worklog in zip(studies, worklogs, strict=True):
        others = [other for other in _of_problem(study, studies) if other is not study]
        across = study.folder.parent / "README.md"
        if others and across.is_file() and _path(tree, across) not in tree.pages:
            navigation.append({f"{_named(study)} · GPU by GPU": _add_page(tree, across)})
        behind = _behind(tree, study, findings, panels, others)
        navigation.append({_title(study, studies): [*worklog, *behind]})
    tree.pages["index.md"] = _home(tree, studies)
    elsewhere = [page for page in findings.values() if not page.startswith("reports/")]
    if elsewhere:
        documents["Reference"].append({"Findings shown": sorted(elsewhere)})
    shown = {Path(page).parent.parent for page in elsewhere}  # their links mean the worklog
    unmeasured = [
        _add_page(tree, page)
        for page in (problem.folder / "README.md" for problem in without)
        if page.is_file() and page.parent.relative_to(checkout) not in shown
    ]
    if unmeasured:
        navigation.append({"Studies without a report": unmeasured})
    navigation += [{kind: pages} for kind, pages in documents.items()]
    return Sources(tree, navigation, terms(tree, findings))


def _documents(tree: Tree) -> dict[str, list[object]]:
    """Add the documentation's pages and drawings; return the pages by the index's headings."""
    parts = re.split(r"^## (.+)$", (tree.checkout / _INDEX).read_text("utf-8"), flags=re.MULTILINE)
    _add_page(tree, tree.checkout / _INDEX)
    for file in sorted((tree.checkout / "docs" / "pictures").rglob("*.svg")):
        tree.files[_path(tree, file)] = file
    return {
        kind: [
            _add_page(tree, tree.checkout / "docs" / name)
            for name in re.findall(r"^- .*?\]\(([\w-]+\.md)\)", part, re.MULTILINE)
        ]
        for kind, part in zip(parts[1::2], parts[2::2], strict=True)
    }


def _of_problem(study: Page, studies: Sequence[Page]) -> list[Page]:
    """Return all reports of a report's problem, each from a target of its own."""
    return [other for other in studies if other.problem.folder == study.problem.folder]


def _title(study: Page, studies: Sequence[Page]) -> str:
    """Return a report's name in the navigation, with its target if its problem has several."""
    title = _named(study)
    alone = len(_of_problem(study, studies)) == 1
    return title if alone else f"{title} · {html.escape(plain(study.target.name))}"


def _named(study: Page) -> str:
    """Return the number and the title of a report's problem, as the navigation shows them."""
    return html.escape(plain(f"{study.problem.number} · {study.problem.title}"))


def _add_worklog(tree: Tree, study: Page) -> list[object]:
    """Add a report's worklog and the pages under it; return their part of the navigation."""
    folder = study.folder
    worklog = _add_page(tree, folder / "README.md")
    tree.pages[worklog] = _CLAIM.sub(rf"\1[\3]({claim_page.NAME}#\2)", tree.pages[worklog])
    steps = [_add_page(tree, page) for page in sorted(folder.glob("pages/*.md"), key=_in_order)]
    for file in sorted(folder.glob("figures/*.svg")):
        tree.files[_path(tree, file)] = file
    return [{"Worklog": worklog}, *([{"Pages": steps}] if steps else [])]


def _behind(
    tree: Tree,
    study: Page,
    findings: Mapping[str, str],
    panels: timelines.Panels,
    others: Sequence[Page],
) -> list[object]:
    """Add what stands behind a worklog; return its part of the navigation."""
    made = timelines.add(tree, study, findings, panels, others)
    pages = {
        "Claims and their evidence": claim_page.add(tree, study),
        "Kernels": kernel_page.add(tree, study, panels.of(study)),
        "Captures and timelines": capture_page.add(tree, study, made),
    }
    pages = {title: page for title, page in pages.items() if page}
    worklog = _path(tree, study.folder / "README.md")
    links = " · ".join(f"[{title}]({Path(page).name})" for title, page in pages.items())
    heading, _, rest = tree.pages[worklog].partition("\n")
    tree.pages[worklog] = f"{heading}\n\n{links}\n{timelines.linked(rest, made)}"
    folder = _path(tree, study.folder)
    figures.add(tree, study, [path for path in tree.pages if path.startswith(f"{folder}/")])
    return [{title: page} for title, page in pages.items()]


def _in_order(page: Path) -> tuple[str, int]:
    """Return what pages are ordered by: the name, and the number that it ends in as a number."""
    name = page.stem.rstrip("0123456789")
    return name, int(page.stem[len(name) :] or 0)


def _home(tree: Tree, studies: Sequence[Page]) -> str:
    """Return the home page: a card of each study."""
    named = {study.folder: _path(tree, study.folder) for study in studies}
    cards, unread = index.cards(
        named, {study.folder.parent.name: study.problem for study in studies}, with_cpu=True
    )
    if unread:
        raise unread[0]
    shown = (f'<section class="card" markdown="1">\n\n{card}\n\n</section>' for card in cards)
    body = "\n\n".join(shown)
    home = _HOME.read_text(encoding="utf-8")
    return f'{home}<div class="cards" markdown="1">\n\n{body}\n\n</div>\n'


def _add_page(tree: Tree, file: Path) -> str:
    path = _path(tree, file)
    tree.pages[path] = diagrams.drawn(file.read_text(encoding="utf-8"))
    return path


def _path(tree: Tree, file: Path) -> str:
    return file.relative_to(tree.checkout).as_posix()
