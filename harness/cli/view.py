"""``harness view``: the timeline, the findings and the kernels of subjects as one HTML file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.evidence.subject import CaptureFiles, Folder, Subject


def view(
    subjects: Annotated[
        list[str],
        typer.Argument(
            help="Capture files, folders of them, or FOLDER:CASE.VARIANT: a part of the page each,"
            " on one time scale."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write.", metavar="FILE")
    ] = Path("view.html"),
) -> None:
    """Write a page to look at captures in a browser.

    One HTML file without a link to any other: it works offline, and can be mailed.
    """
    from harness import files
    from harness.cli import output as printed
    from harness.extract import door
    from harness.view import document

    shown = [_subject(door.opened(each)) for each in subjects]
    page = document.page(shown, _difference(*shown) if len(shown) == 2 else "")
    files.write_text(output, page)
    printed.say(f"{output}: {len(page.encode()) / 1e3:.0f} kB, open it in a browser")


def _subject(opened: "Subject | CaptureFiles | Folder") -> "Subject":
    """Return what one part of the page shows; a whole run or report is an error."""
    from harness.errors import UsageError
    from harness.evidence.subject import CaptureFiles, Folder

    if isinstance(opened, Folder):
        remedy = "name one of its cells: FOLDER:CASE.VARIANT"
        raise UsageError("a whole run or report", where=opened.label, remedy=remedy)
    return opened.subject() if isinstance(opened, CaptureFiles) else opened


def _difference(first: "Subject", second: "Subject") -> str:
    """Return the sentence on what changed, or on why the two cannot be compared."""
    from harness.analysis.diff import compare
    from harness.errors import HarnessError
    from harness.report import difference

    try:
        return difference.headline(compare.compare(first, second))
    except HarnessError as error:
        return str(error)
