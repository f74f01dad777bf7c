"""``harness diff``: what changed from one capture, cell, run or report to another."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.report.section_text import Section

_SIDE = "A capture file, a folder of them, a run or report folder, or FOLDER:CASE.VARIANT."


def diff(
    a: Annotated[str, typer.Argument(help=_SIDE)],
    b: Annotated[str, typer.Argument(help="The same: what to compare the first with.")],
    ranges: Annotated[
        str | None, typer.Option("--range", help="The NVTX range or annotation of a step.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print as Markdown.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say what changed from A to B, in parts that sum to the whole change."""
    from harness.analysis.diff import compare
    from harness.cli import output
    from harness.errors import UsageError
    from harness.evidence.subject import CaptureFiles, Folder
    from harness.extract import door
    from harness.report import difference, section_text
    from harness.report.escape import escape, printable

    if json and markdown:
        raise UsageError("--json and --markdown exclude each other")
    sides = [door.opened(side) for side in (a, b)]
    first, second = (side.subject() if isinstance(side, CaptureFiles) else side for side in sides)
    if isinstance(first, Folder) and isinstance(second, Folder):
        folders = compare.compare_folders(first, second)
        document, shown = asdict(folders), [difference.folders(folders)]
    elif isinstance(first, Folder) or isinstance(second, Folder):
        raise UsageError(
            "one side is a whole run or report, the other is not",
            remedy="name a cell of it: FOLDER:CASE.VARIANT",
        )
    else:
        change = compare.compare(first, second, ranges)
        document, shown = asdict(change), difference.sections(change)
    if json:
        output.as_json({"a": first.label, "b": second.label, **document})
        return
    if markdown:
        labels = f"A: {escape(first.label)}  \nB: {escape(second.label)}"
        print(f"{labels}\n\n{section_text.markdown(shown)}")
        return
    print(f"A: {printable(first.label)}\nB: {printable(second.label)}\n")
    for section in shown:
        _print(section)


def _print(section: "Section") -> None:
    from harness.cli import output
    from harness.report import section_text

    for line in section_text.wrapped(section.lead):
        print(line)
    if section.rows:
        output.table(section.head, section.rows, section.title)
    elif section.title:
        print(section.title)
    for line in section_text.printed(section):
        print(line)
    print()
