"""``harness inspect``: what a capture file, a cell, a run or a report holds."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.graph_captures import CapturedBy

if TYPE_CHECKING:
    from harness.evidence.subject import Folder


@dataclass(frozen=True)
class Cell:
    """A cell of a run or a report, and its captures."""

    case: str
    variant: str
    captures: list[str]


@dataclass(frozen=True)
class Cells:
    """A run or a report."""

    label: str
    run: str
    cells: list[Cell]


@dataclass(frozen=True)
class Unread:
    """A file of a folder that could not be read."""

    label: str
    error: str


def inspect(
    file: Annotated[
        Path,
        typer.Argument(
            help="A capture of nsys, ncu, torch.profiler, memory or load, a folder of them,"
            " a run or report folder, or FOLDER:CASE.VARIANT."
        ),
    ],
    captured_by: CapturedBy = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    full_names: Annotated[
        bool, typer.Option("--full-names", help="Print kernel names whole.")
    ] = False,
) -> None:
    """Show what a capture holds.

    Kernels, copies, idle time, ranges, counters or memory, as its kind records them.
    """
    from harness.analysis import summary
    from harness.cli import graph_captures, output
    from harness.evidence.subject import CaptureFiles, Folder
    from harness.extract import door

    subject = door.opened(str(file), "totals")
    if isinstance(subject, Folder):
        _cells(subject, json=json)
        return
    files = subject.files if isinstance(subject, CaptureFiles) else (subject,)
    refused = subject.refused if isinstance(subject, CaptureFiles) else ()
    documents = [
        (each.label, summary.document(capture, graph_captures.of([capture], captured_by)))
        for each in files
        for capture in each.captures.values()
    ]
    if json:
        several: list[object] = [{"label": label, **document} for label, document in documents]
        several += [Unread(error.where, str(error)) for error in refused]
        output.as_json(several if len(several) > 1 else documents[0][1])
        return
    for label, document in documents:
        if len(documents) > 1:
            output.say(f"{label}: {document['kind']}")
            output.say()
        _show(document, label, full_names=full_names)
    for error in refused:
        output.say(f"not read: {error}")


def _show(document: dict[str, Any], label: str, *, full_names: bool) -> None:
    from harness.analysis import summary
    from harness.analysis.kernels import short_names
    from harness.cli.shown import counters, head, memory, samples, serving, timeline

    sort = summary.sort(document["kind"])
    names = [kernel["name"] for kernel in document.get("kernels", [])]
    width = shutil.get_terminal_size((100, 24)).columns
    beside = counters.BESIDE_NAMES if sort == "counters" else timeline.BESIDE_NAMES
    shown = {} if full_names else short_names(names, max(100, width) - beside)
    head.show(document, label, width)
    printers = {
        "timeline": timeline.show,
        "counters": counters.show,
        "allocations": memory.show,
        "serving": serving.show,
        "samples": samples.show,
    }
    printers[sort](document, shown)


def _cells(folder: "Folder", *, json: bool) -> None:
    """Print the finished cells of a run or a report, and how to name one of them."""
    from harness.cli import output

    rows = [(case, variant, folder.captures(case, variant)) for case, variant in folder.cells]
    origin = folder.origin.run
    if json:
        output.as_json(
            Cells(folder.label, origin.id, [Cell(*row[:2], list(row[2])) for row in rows])
        )
        return
    output.say(f"{origin.problem}, run {origin.id} on {origin.target.name}")
    output.say()
    output.table(("case", "variant", "captures"), [(*row[:2], ", ".join(row[2])) for row in rows])
    if rows:
        cell = f"{folder.label}:{rows[0][0]}.{rows[0][1]}"
        output.say(f"one cell: harness inspect {cell}")
