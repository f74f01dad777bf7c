"""The page of a report's cells: the timeline of each, its captures, and what opens them."""

from collections.abc import Iterator, Mapping

from harness.captures.registry import KINDS
from harness.errors import UsageError
from harness.evidence import capture_list
from harness.evidence.capture_list import KeptCapture
from harness.evidence.subject import Folder
from harness.report.escape import Markdown, code, escape, link, listing, table
from harness.report.numbers import size
from harness.report.page import Page
from harness.site.tree import WIDE, Tree, built_path
from harness.view import document

_NAME = "captures.md"
_HEAD = (
    f"{WIDE}# Captures and timelines\n\n"
    "A timeline is a page of its own, made of the evidence as `harness view` makes it: it shows the"
    " measured steps to zoom into, findings, kernels and memory.\n\n"
)


def add(tree: Tree, study: Page, findings: Mapping[str, str]) -> str:
    """Add a report's timelines, its captures and the page that lists them; return that page.

    ``findings`` are the pages of findings by id, to which timelines link.
    """
    folder = study.folder.relative_to(tree.checkout).as_posix()
    kept = capture_list.read(study.folder / "evidence")
    captures = kept.captures if kept else ()
    for capture in captures:
        if capture.in_git:
            tree.files[f"{folder}/captures/{capture.name}"] = (
                study.folder / "captures" / capture.name
            )
    timelines = dict(_timelines(tree, study, folder, findings))
    page = f"{folder}/{_NAME}"
    parts: list[str] = [_HEAD + _cells(study, timelines), "## Captures", _captures(captures)]
    tree.made[page] = "\n\n".join([*parts, *_opening(captures)]) + "\n"
    return page


def timeline(case: str, variant: str) -> str:
    """Return where a cell's timeline stands, from the report's folder."""
    return f"timelines/{case}.{variant}.html"


def _timelines(
    tree: Tree, study: Page, folder: str, findings: Mapping[str, str]
) -> Iterator[tuple[tuple[str, str], str]]:
    """Add the page of each profiled cell; yield case and variant, and the page's name.

    A cell of more events than a page holds has none.
    """
    root = "../" * (folder.count("/") + 2)
    links = {id_: root + built_path(page) for id_, page in findings.items()}
    evidence = Folder(folder, study.tables, study.provenance)
    for case, variant in evidence.cells:
        kinds = evidence.captures(case, variant)
        if all(KINDS[kind].unprofiled for kind in kinds):
            continue
        name = timeline(case, variant)
        try:
            tree.files[f"{folder}/{name}"] = document.page(
                [evidence.subject(case, variant)], pages=links
            )
        except UsageError:
            continue
        yield (case, variant), name


def _cells(study: Page, timelines: dict[tuple[str, str], str]) -> Markdown:
    problem = study.problem
    rows: list[list[str]] = [
        [
            problem.cases[case].label if case in problem.cases else case,
            problem.variants[variant].label if variant in problem.variants else variant,
            Markdown(f"[{escape(case)}.{escape(variant)}]({link(name)})"),
        ]
        for (case, variant), name in timelines.items()
    ]
    return table(["case", "variant", "timeline"], rows, numeric_from=3, whole=True)


def _captures(captures: tuple[KeptCapture, ...]) -> Markdown:
    if not captures:
        return Markdown("*This report keeps none.*")
    rows: list[list[str]] = [
        [
            Markdown(f"[{escape(each.name)}](captures/{link(each.name)})")
            if each.in_git
            else each.name,
            size(each.bytes),
            code(each.sha256[:16]),
            each.cell,
            "here" if each.in_git else code("harness captures fetch"),
        ]
        for each in captures
    ]
    head = ["file", "size", "sha256", "cell", "from"]
    return table(head, rows, numeric_from=len(head), whole=True)


def _opening(captures: tuple[KeptCapture, ...]) -> Iterator[str]:
    """Yield the command that opens a capture of each kind, for each program that reads it."""
    for kept in (kept for kind in KINDS.values() for kept in kind.kept):
        named = next((each for each in captures if each.artifact == kept.name), None)
        if named is None:
            continue
        file = f"captures/{named.name}"
        for program, command in (*kept.opens, ("a timeline of its own", "harness view {file}")):
            line = command.format(file=file, plain=file.removesuffix(".zst"))
            yield f"`{kept.name}` in {program}:\n\n{listing([line], 'sh')}"
