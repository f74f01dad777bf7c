"""The timelines of a report's cells, and of two of them side by side, as pages of the site."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from harness.evidence.kinds import KINDS
from harness.evidence.subject import Folder
from harness.ground.errors import UsageError
from harness.report.escape import escape, link
from harness.report.page import Page
from harness.site.tree import Tree, built_path
from harness.view import document, panel
from harness.view.panel import Panel

_FIGURE = re.compile(r"!\[(?P<alt>[^\]]*)\]\(figures/(?P<name>[\w.+-]+)\.svg\)")

Cell = tuple[str, str]
"""Case and variant."""


@dataclass(frozen=True)
class Timelines:
    """The pages of a report's timelines, from the report's folder: by cell, and by two cells.

    ``drawn``: the cells whose page has a timeline; the others have counters or memory alone.
    ``targets``: cells beside the same cell of another report of the study, with that one's target.
    """

    single: dict[Cell, str]
    pairs: dict[tuple[Cell, Cell], str]
    targets: dict[tuple[Cell, str], str]
    drawn: frozenset[Cell]


class Panels:
    """The panels of reports' profiled cells, each made once: several pages show it."""

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout
        self._known: dict[Path, dict[Cell, Panel]] = {}

    def of(self, study: Page) -> dict[Cell, Panel]:
        """Return each profiled cell of a report with its panel, if a page holds that."""
        if study.folder not in self._known:
            self._known[study.folder] = dict(_panels(self._checkout, study))
        return self._known[study.folder]


def place(case: str, variant: str) -> str:
    """Return where a cell's timeline stands, from the report's folder."""
    return f"timelines/{case}.{variant}.html"


def add(
    tree: Tree,
    study: Page,
    findings: Mapping[str, str],
    known: Panels,
    others: Sequence[Page] = (),
) -> Timelines:
    """Add a report's timelines, and side by side those that a figure of the worklog shows together.

    ``findings`` are the pages of findings by id, to which timelines link; ``others`` are reports of
    the same study from other targets, whose cells stand beside these. A cell of more events than a
    page holds has none, nor has one that was not profiled.
    """
    folder = study.folder.relative_to(tree.checkout).as_posix()
    root = "../" * (folder.count("/") + 2)
    links = {id_: root + built_path(page) for id_, page in findings.items()}

    def page(name: str, *panels: Panel) -> str:
        tree.files[f"{folder}/{name}"] = document.of_panels(panels, links, "../captures.html")
        return name

    panels = known.of(study)
    single = {cell: page(place(*cell), panel) for cell, panel in panels.items()}
    pairs = {
        (a, b): page(place(a[0], f"{a[1]}.and.{b[1]}"), panels[a], panels[b])
        for shown in _drawn(tree.pages[f"{folder}/README.md"], tuple(single))
        for a, b in pairwise(shown)
    }
    drawn = frozenset(cell for cell, each in panels.items() if each.shown["timeline"])
    targets = {
        (cell, other.folder.name): page(
            place(cell[0], f"{cell[1]}.and.{other.folder.name}"), panels[cell], theirs
        )
        for other in others
        for cell, theirs in known.of(other).items()
        if cell in drawn and theirs.shown["timeline"]
    }
    return Timelines(single, pairs, targets, drawn)


def _panels(checkout: Path, study: Page) -> Iterator[tuple[Cell, Panel]]:
    folder = study.folder.relative_to(checkout).as_posix()
    evidence = Folder(folder, study.tables, study.provenance)
    for cell in evidence.cells:
        if all(KINDS[kind].unprofiled for kind in evidence.captures(*cell)):
            continue
        try:
            yield cell, panel.of(evidence.subject(*cell))
        except UsageError:
            continue


def linked(worklog: str, timelines: Timelines) -> str:
    """Return a worklog that leads from each figure of timelines to the pages of them."""

    def below(figure: re.Match[str]) -> str:
        shown = _shown(figure, tuple(timelines.single))
        pages = [f"[{escape(variant)}]({link(place(case, variant))})" for case, variant in shown]
        pages += [
            f"[side by side, with what changed]({link(timelines.pairs[both])})"
            for both in pairwise(shown)
            if both in timelines.pairs
        ]
        return f"{figure[0]}\n\nTo zoom into: {', '.join(pages)}" if pages else figure[0]

    return _FIGURE.sub(below, worklog)


def _drawn(worklog: str, cells: tuple[Cell, ...]) -> Iterator[list[Cell]]:
    """Yield the cells of each figure of timelines, in the order in which it shows them."""
    for figure in _FIGURE.finditer(worklog):
        yield _shown(figure, cells)


def _shown(figure: re.Match[str], cells: tuple[Cell, ...]) -> list[Cell]:
    """Return the cells that a figure shows: it is named after its case, described by variants."""
    words = re.split(r"[ ,]+", figure["alt"])
    shown = [
        (case, variant)
        for case, variant in cells
        if variant in words and f"-{case}-" in figure["name"]
    ]
    return sorted(shown, key=lambda cell: words.index(cell[1]))
