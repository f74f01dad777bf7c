"""``harness captures``: copy the captures that git has no room for to and from a shared store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.evidence.capture_list import StoredFile
    from harness.store.capture_store import Transfer

app = typer.Typer(
    help="Copy reports' captures that git has no room for.\n\n"
    "Exit code 0 if each of them is there, 1 if some are missing.",
)
JsonOption = Annotated[bool, typer.Option("--json", help="Print as JSON.")]


@app.command()
def push(
    destination: Annotated[
        str, typer.Argument(metavar="DEST", help="A folder, or a URL that fsspec opens.")
    ],
    json: JsonOption = False,
) -> None:
    """Copy the captures of every report to DEST.

    They come from .captures/; each copy is read back.
    """
    from harness.ground import checkout
    from harness.report import index
    from harness.store import capture_store

    captures = [*_listed(index.reports(checkout.reports())), *_of_studies()]
    _show(capture_store.push(captures, checkout.captures(), destination), json=json)


@app.command()
def fetch(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[SRC]", help="What DEST was to `push`; git's history if absent."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="A report's folder; every report if absent.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Copy reports' captures from SRC, or out of the history of this repository.

    They go to .captures/; size and sha256 are checked on arrival.
    """
    from harness.ground import checkout
    from harness.report import index
    from harness.store import capture_store

    folders = index.reports(checkout.reports()) if report is None else [report]
    captures = [*_listed(folders), *(_of_studies() if report is None else ())]
    store = checkout.captures()
    transfer = (
        capture_store.fetch_from_history(captures, checkout.CHECKOUT, store)
        if source is None
        else capture_store.fetch(captures, source, store)
    )
    _show(transfer, json=json)


def _listed(reports: list[Path]) -> list["StoredFile"]:
    """Return the captures outside git that reports list; older reports list none."""
    from harness.evidence import capture_list
    from harness.ground.errors import UsageError

    captures: list[StoredFile] = []
    for report in reports:
        if not (report / "evidence").is_dir():
            raise UsageError("not a report: it has no evidence folder", where=report)
        listed = capture_list.read(report / "evidence")
        captures += [capture for capture in listed.captures if not capture.in_git] if listed else []
    return captures


def _of_studies() -> "tuple[StoredFile, ...]":
    from harness.evidence import capture_list
    from harness.ground import checkout

    return capture_list.stored(checkout.problems())


def _show(transfer: "Transfer", *, json: bool) -> None:
    """Print what became of each capture and end with the exit code."""
    from harness.cli import output

    if json:
        output.as_json(
            {
                "copied": [_row(capture) for capture in transfer.copied],
                "already_there": [_row(capture) for capture in transfer.already_there],
                "missing": [
                    {**_row(capture), "reason": reason} for capture, reason in transfer.missing
                ],
            }
        )
    else:
        for capture in transfer.copied:
            output.say(f"copied: {capture.name} {capture.sha256}")
        for capture, reason in transfer.missing:
            output.say(f"missing: {capture.name} {capture.sha256}: {reason}")
        counts = (len(transfer.copied), len(transfer.already_there), len(transfer.missing))
        output.say("{} copied, {} already there, {} missing".format(*counts))
    raise typer.Exit(1 if transfer.missing else 0)


def _row(capture: "StoredFile") -> dict[str, str | int]:
    return {"name": capture.name, "sha256": capture.sha256, "bytes": capture.bytes}
