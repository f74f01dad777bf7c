"""The page of a report's cells: the timeline of each, its captures, and what opens them."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.evidence import capture_list
from harness.evidence.capture_list import KeptCapture
from harness.evidence.kinds import KINDS
from harness.report.escape import Markdown, link, listing, table
from harness.report.numbers import size
from harness.report.page import Page
from harness.site.headed import head, rendered
from harness.site.timelines import Cell, Timelines
from harness.site.tree import Tree

_NAME = "captures.md"
_TIMELINES = (
    "A timeline is a page of its own, made of the evidence as `harness view` makes it: it shows the"
    " measured steps to zoom into, findings, kernels with their counters, and memory.\n\n"
)
_PAIRS = (
    "Two variants on one time scale, with what changed between them as `harness diff` tells it. Of"
    " any other two, or of two reports' GPUs, such a page is made by a command:\n\n"
)


@dataclass(frozen=True)
class CaptureRow:
    """One row of the table of captures; ``opens``: programs, each with its command."""

    name: str
    cell: str
    bytes: int
    size: str
    sha256: str
    in_git: bool
    opens: tuple[tuple[str, str], ...]


def add(tree: Tree, study: Page, timelines: Timelines) -> str:
    """Add a report's captures and the page that lists them and its timelines; return that page."""
    folder = study.folder.relative_to(tree.checkout).as_posix()
    kept = capture_list.read(study.folder / "evidence")
    captures = kept.captures if kept else ()
    for capture in captures:
        if capture.in_git:
            tree.files[f"{folder}/captures/{capture.name}"] = (
                study.folder / "captures" / capture.name
            )
    page = f"{folder}/{_NAME}"
    parts: list[str] = [
        head(study, "Captures and timelines") + _TIMELINES + _cells(study, timelines),
        *_pairs(study, timelines, folder),
    ]
    tree.made[page] = "\n\n".join([*parts, "## Captures", _captures(captures, folder)]) + "\n"
    return page


def _cells(study: Page, timelines: Timelines) -> Markdown:
    rows: list[list[str]] = [
        [*_labels(study, cell), _link(_has(cell, timelines), name)]
        for cell, name in timelines.single.items()
    ]
    return table(["case", "variant", ""], rows, numeric_from=3, whole=True)


def _pairs(study: Page, timelines: Timelines, folder: str) -> Iterator[str]:
    """Yield the timelines that stand side by side, and the command that makes any others."""
    cells = list(timelines.single)
    rows: list[list[str]] = [
        [*_labels(study, a), _labels(study, b)[1], _link("side by side", name)]
        for (a, b), name in timelines.pairs.items()
    ]
    rows += [
        [*_labels(study, cell), f"the same on {target}", _link("side by side", name)]
        for (cell, target), name in timelines.targets.items()
    ]
    if len(cells) < 2 and not rows:
        return
    a, b = next(iter(timelines.pairs), (cells[0], cells[-1]))
    names = [f"{folder}:{case}.{variant}" for case, variant in (a, b)]
    command = listing([f"harness view {names[0]} \\", f"    {names[1]} -o both.html"], "sh")
    yield f"## Side by side\n\n{_PAIRS}{command}"
    if rows:
        yield table(["case", "A", "B", ""], rows, numeric_from=4, whole=True)


def _has(cell: Cell, timelines: Timelines) -> str:
    """Return the name of a cell's page, by what that has."""
    return "timeline" if cell in timelines.drawn else "counters or memory"


def _link(text: str, name: str) -> Markdown:
    return Markdown(f"[{text}]({link(name)})")


def _labels(study: Page, cell: Cell) -> tuple[str, str]:
    """Return the labels of a cell's case and variant, as the manifest has them."""
    case, variant = cell
    cases, variants = study.problem.cases, study.problem.variants
    return (
        cases[case].label if case in cases else case,
        variants[variant].label if variant in variants else variant,
    )


def _captures(captures: tuple[KeptCapture, ...], folder: str) -> str:
    if not captures:
        return "*This report keeps none.*"
    rows = [
        CaptureRow(
            name=each.name,
            cell=each.cell,
            bytes=each.bytes,
            size=size(each.bytes),
            sha256=each.sha256,
            in_git=each.in_git,
            opens=tuple(_opens(each, folder)),
        )
        for each in captures
    ]
    return rendered("captures.html.j2", captures=rows, folder=folder)


def _opens(capture: KeptCapture, folder: str) -> Iterator[tuple[str, str]]:
    """Yield each program that reads a capture, with the commands that open it there.

    A file that a problem asked to keep, and that no kind of capture knows, is unpacked.
    """
    file, first = f"{folder}/captures/{capture.name}", ""
    if not capture.in_git:
        file = capture.name
        first = f"cp .captures/*/{capture.sha256} {file}\n"
    matching = [(kind, kept) for kind in KINDS.values() for kept in kind.kept]
    matching = [(kind, kept) for kind, kept in matching if kept.name == capture.artifact]
    for kind, kept in matching:
        for program, command in kept.opens:
            yield program, first + command.format(file=file, plain=file.removesuffix(".zst"))
        if kind.artifact:
            yield "harness view", f"{first}harness view {file}"
    if not matching and file.endswith(".zst"):
        yield "zstd", f"{first}zstd -dc {file}"
