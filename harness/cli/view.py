"""``harness view``: the timeline, the findings and the kernels of subjects as one HTML file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.graph_captures import CapturedBy

if TYPE_CHECKING:
    from harness.evidence.subject import CaptureFiles, Folder, Subject


def _checked(output: Path) -> Path:
    """Return the path, if no file is lost by writing a page there."""
    from harness.ground import files
    from harness.view import document

    files.check_output(output, "a page of harness view", document.is_page)
    return output


def view(
    subjects: Annotated[
        list[str],
        typer.Argument(
            help="Capture files, folders of them, or FOLDER:CASE.VARIANT: a part of the page each,"
            " on one time scale."
        ),
    ],
    captured_by: CapturedBy = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The file to write.", metavar="FILE", callback=_checked
        ),
    ] = Path("view.html"),
) -> None:
    """Write a page to look at captures in a browser.

    Of two subjects it shows what `harness diff` finds between their timelines. One HTML file
    without a link to any other: it works offline, and can be mailed.
    """
    from harness.cli import graph_captures
    from harness.cli import output as printed
    from harness.cli.opening import section_of
    from harness.ground import files
    from harness.view import document

    shown = [_subject(section_of(each)) for each in subjects]
    captures = [capture for each in shown for capture in each.captures.values()]
    page = document.page(shown, graph_captures.of(captures, captured_by))
    files.write_text(output, page)
    printed.say(f"{output}: {len(page.encode()) / 1e3:.0f} kB, open it in a browser")


def _subject(opened: "Subject | CaptureFiles | Folder") -> "Subject":
    """Return what one part of the page shows; a whole run or report is an error."""
    from harness.evidence.subject import CaptureFiles, Folder
    from harness.ground.errors import UsageError

    if isinstance(opened, Folder):
        remedy = "name one of its cells: FOLDER:CASE.VARIANT"
        raise UsageError("a whole run or report", where=opened.label, remedy=remedy)
    return opened.subject() if isinstance(opened, CaptureFiles) else opened
