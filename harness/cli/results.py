"""Results as continuous integration reads them: the options that ask for it, and the output."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import output

if TYPE_CHECKING:
    from harness.report.check_results import Result


def _checked(junit: Path | None) -> Path | None:
    """Return the path, if no file is lost by writing JUnit XML there."""
    from harness.ground import files
    from harness.report import check_results

    if junit:
        files.check_output(junit, "JUnit XML", check_results.is_junit)
    return junit


Junit = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also write JUnit XML here.", callback=_checked),
]
Github = Annotated[
    bool, typer.Option("--github", help="Also print annotations for GitHub Actions.")
]


def pass_on(results: list["Result"], name: str, junit: Path | None, *, github: bool) -> None:
    """Write the results as JUnit XML, and print them as annotations, where that was asked for."""
    from harness.ground import files
    from harness.report import check_results

    if junit:
        files.write_text(junit, check_results.junit(results, name))
    for line in check_results.annotations(results, name) if github else ():
        output.say(line, to_stderr=True)  # GitHub reads both streams, and JSON has the other
