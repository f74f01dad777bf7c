"""``harness diff``: what changed from one capture, cell, run or report to another."""

from dataclasses import asdict
from typing import Annotated

import typer

_SIDE = "A capture file, a run or report folder, or FOLDER:CASE.VARIANT."


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
    from harness.cli import output
    from harness.errors import UsageError
    from harness.extract import sources as sources
    from harness.report import difference
    from harness.report.escape import escape, printable

    if json and markdown:
        raise UsageError("--json and --markdown exclude each other")
    sides = [sources.subject_or_folder(one) for one in (a, b)]
    first, second = sides
    if isinstance(first, sources.Folder) and isinstance(second, sources.Folder):
        folders = sources.compare_folders(first, second)
        made, shown = asdict(folders), [difference.folders(folders)]
    elif isinstance(first, sources.Folder) or isinstance(second, sources.Folder):
        raise UsageError(
            "one side is a whole run or report, the other is not",
            remedy="name a cell of it: FOLDER:CASE.VARIANT",
        )
    else:
        found = sources.compare(first, second, ranges)
        made, shown = asdict(found), difference.sections(found)
    if json:
        output.as_json({"a": first.label, "b": second.label, **made})
        return
    if markdown:
        labels = f"A: {escape(first.label)}  \nB: {escape(second.label)}"
        print(f"{labels}\n\n{difference.markdown(shown)}")
        return
    print(f"A: {printable(first.label)}\nB: {printable(second.label)}\n")
    for section in shown:
        if section.rows:
            output.table(section.head, section.rows, section.title)
        elif section.title:
            print(section.title)
        for line in section.lines:
            print(printable(line))
        print()
