"""``harness diff``: what changed from one capture, cell, run or report to another."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.evidence.subject import CaptureFiles, Folder, Subject
    from harness.ground.errors import HarnessError
    from harness.report.section_text import Section

    Parts = list[tuple[str, str, Sequence[Section]]]
    """The labels of A and B, and how they differ, for each pair of captures."""

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
    """Say what changed from A to B, in parts that sum up."""
    from harness.cli import output
    from harness.cli.opening import section_of
    from harness.ground.errors import UsageError

    if json and markdown:
        raise UsageError("--json and --markdown exclude each other")
    document, parts, lines = _compared(section_of(a), section_of(b), ranges)
    if json:
        output.as_json(document)
        return
    for first, second, sections in parts:
        show = _print_markdown if markdown else _print
        show(first, second, sections)
    for line in lines:
        output.say(line)


def _compared(
    a: "Subject | CaptureFiles | Folder",
    b: "Subject | CaptureFiles | Folder",
    ranges: str | None,
) -> "tuple[dict[str, Any], Parts, list[str]]":
    """Return the difference as a document and as sections, and lines on captures left out."""
    from harness.analysis.diff import compare
    from harness.evidence.subject import CaptureFiles, Folder
    from harness.ground.errors import UsageError
    from harness.report import difference

    if isinstance(a, Folder) and isinstance(b, Folder):
        folders = compare.compare_folders(a, b)
        sections = [difference.folders(folders)]
        document = {"a": a.label, "b": b.label, **asdict(folders)}
        return document, [(a.label, b.label, sections)], []
    if isinstance(a, Folder) or isinstance(b, Folder):
        raise UsageError(
            "one side is a whole run or report, the other is not",
            remedy="name a cell of it: FOLDER:CASE.VARIANT",
        )
    if isinstance(a, CaptureFiles) and isinstance(b, CaptureFiles):
        return _folders_of_captures(a, b, ranges)
    first, second = (side.subject() if isinstance(side, CaptureFiles) else side for side in (a, b))
    change = compare.compare(first, second, ranges)
    sentence = difference.headline(change)
    document = {"a": first.label, "b": second.label, "headline": sentence, **asdict(change)}
    return document, [(first.label, second.label, difference.sections(change))], []


def _folders_of_captures(
    a: "CaptureFiles", b: "CaptureFiles", ranges: str | None
) -> "tuple[dict[str, Any], Parts, list[str]]":
    """Return the differences of two folders, capture by capture."""
    from harness.analysis.diff import pairs

    pairing = pairs.paired(a, b)
    compared = [_compared(first, second, ranges) for first, second in pairing.both]
    parts = [part for _, of_pair, _ in compared for part in of_pair]
    refused: list[HarnessError] = [*a.refused, *b.refused]
    document: dict[str, Any] = {
        "a": a.label,
        "b": b.label,
        "pairs": [each for each, _, _ in compared],
        "only_a": pairing.only_a,
        "only_b": pairing.only_b,
        "not_read": [str(error) for error in refused],
    }
    lines = [
        f"Only in {side}: {label}."
        for side, labels in (("A", pairing.only_a), ("B", pairing.only_b))
        for label in labels
    ]
    lines += [f"Not read: {error}" for error in refused]
    if len(compared) == 1 and not lines:
        document = compared[0][0]
    return document, parts, lines


def _print_markdown(a: str, b: str, sections: "Sequence[Section]") -> None:
    from harness.cli import output
    from harness.report import section_text
    from harness.report.escape import escape

    page = f"A: {escape(a)}  \nB: {escape(b)}\n\n{section_text.markdown(sections)}"
    for line in page.split("\n"):
        output.say(line)


def _print(a: str, b: str, sections: "Sequence[Section]") -> None:
    from harness.cli import output
    from harness.report import section_text

    for line in (f"A: {a}", f"B: {b}", ""):
        output.say(line)
    for section in sections:
        if section.lead:
            for line in [*section_text.wrapped(section.lead), ""]:
                output.say(line)
        if section.rows:
            output.table(section.head, section.rows, section.title)
        elif section.title:
            output.say(section.title)
        for line in section_text.printed(section):
            output.say(line)
        output.say()
