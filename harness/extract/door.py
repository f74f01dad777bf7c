"""The one door: a run, a cell, a report, a capture file or a folder of files becomes a subject."""

import difflib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from harness.captures import reading, sniff
from harness.captures.reading import Extent
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.evidence.kinds import KINDS
from harness.evidence.subject import CaptureFiles, Folder, Subject
from harness.ground import bounded, confined
from harness.ground.errors import CaptureError, HarnessError, UsageError

if TYPE_CHECKING:
    from harness.evidence.provenance import EvidenceProvenance
    from harness.store import run_folder

_ANALYSIS_S = 20.0
"""CPU seconds that follow reading, whatever a file's size; real captures of a few MB take 3."""

# The records of runs and reports are imported where a folder is opened: a capture file needs none,
# and pydantic's models take a tenth of a second.


def opened(text: str, extent: Extent = "whole") -> Subject | CaptureFiles | Folder:
    """Return the subject that ``text`` names.

    That is a capture file, a folder of them, a folder of a run or a report, or one cell of such:
    FOLDER:CASE.VARIANT. ``extent`` says how much is read of a long timeline in a file. Raises
    UsageError or CaptureError, which name ``text``, if nothing can be read.
    """
    path, (folder, _, cell) = Path(text), text.rpartition(":")
    if not path.exists() and folder and Path(folder).is_dir():
        return whole(Path(folder), cell).named(cell)
    if not path.exists():
        raise CaptureError("no such file", where=text, remedy=_near(path))
    if not path.is_dir():
        return capture(path, extent=extent)
    from harness.store import run_folder

    if _is_run(path) or _is_report(path):
        return whole(path)
    if (path / run_folder.RECORD).is_file():
        return _cell(path, extent)
    return _files(path, extent)


def _near(path: Path) -> str:
    """Return a remedy for a path that leads nowhere: names beside it that are like its own."""
    try:
        beside = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"nor is there a folder {path.parent}"
    near = difflib.get_close_matches(path.name, beside, n=2)
    remedy = "name a capture file, a folder of them, a run or a report"
    return f"did you mean {' or '.join(near)}?" if near else remedy


def report(path: Path) -> Folder:
    """Return the published evidence of a report's folder; UsageError if it holds none."""
    origin = provenance_of(path)
    bounded.allow(path, confined.budget(path / "evidence", _ANALYSIS_S))
    return Folder(str(path), evidence.load(path / "evidence"), origin)


def provenance_of(path: Path) -> "EvidenceProvenance":
    """Return the provenance of a report's evidence; UsageError if the folder holds none."""
    from harness.evidence import provenance

    if not _is_report(path):
        what = "no evidence in this folder" if path.is_dir() else "no such folder"
        raise UsageError(what, where=path, remedy=f"a report has evidence/{provenance.FILE}")
    return provenance.load(path / "evidence")


def run(source: "run_folder.Run", folder: Path, cell: str = "") -> Folder:
    """Extract a run, or one cell of it (CASE.VARIANT), into ``folder`` and return its evidence."""
    from harness.evidence import provenance
    from harness.extract import run as extraction

    tables = extraction.extract(source, folder, cell)
    return Folder(str(source.folder), tables, provenance.load(folder))


def _is_run(path: Path) -> bool:
    return (path / "run.json").is_file()


def _is_report(path: Path) -> bool:
    from harness.evidence import provenance

    return (path / "evidence" / provenance.FILE).is_file()


def whole(path: Path, cell: str = "") -> Folder:
    """Return the evidence of a run's or a report's folder, labelled as the user named it.

    Nothing is written there. Of a run only the captures of ``cell`` (CASE.VARIANT) are read, if it
    is given. Raises UsageError if the folder is neither a run nor a report.
    """
    from harness.store import run_folder

    if not _is_run(path):
        if _is_report(path):
            return report(path)
        remedy = "a run has run.json, a report has evidence/"
        raise UsageError("neither a run nor a report", where=path, remedy=remedy)
    source = run_folder.Run.open(path)
    with tempfile.TemporaryDirectory(prefix="evidence-") as scratch:
        extracted = run(source, Path(scratch) / "evidence", cell)
    return Folder(str(path), extracted.tables, extracted.origin)


def _cell(path: Path, extent: Extent) -> Subject:
    """Return the capture in a cell's own folder; UsageError if its kind leaves none."""
    from harness.store import run_folder

    cell = run_folder.record_of(path)
    kind = KINDS.get(cell.capture)
    if kind is None or kind.artifact is None:
        raise UsageError(
            f"a {cell.capture} cell leaves no capture file",
            where=path,
            remedy=f"name the cell of its run: RUN:{cell.case}.{cell.variant}",
        )
    return capture(run_folder.verified(path, cell, kind.artifact), extent=extent)


def _files(path: Path, extent: Extent) -> CaptureFiles:
    """Return the capture files that lie in a folder; hidden files and others are left out.

    A damaged one is kept as its error. Raises that error if no file can be read.
    """
    captures, refused = [], []
    for file in sorted(path.iterdir()):
        if file.name.startswith(".") or not file.is_file():
            continue
        try:
            _check(file)
            if form := _recognised(file):
                captures.append(capture(file, form, extent))
        except HarnessError as error:
            refused.append(error)
    if not captures:
        remedy = "name a trace, a report or a snapshot"
        raise refused[0] if refused else UsageError("no capture in it", where=path, remedy=remedy)
    return CaptureFiles(str(path), tuple(captures), tuple(refused))


def newest_in(folder: Path, most: int) -> list[tuple[Path, str]]:
    """Return captures in a folder with their kinds, the newest first, among ``most`` newest files.

    Files are told by their first bytes; hidden ones are left out. Empty if nothing can be listed.
    """
    try:
        files = [each for each in folder.iterdir() if each.name[0] != "." and each.is_file()]
        files.sort(key=lambda each: each.stat().st_mtime_ns, reverse=True)
    except OSError:
        return []
    forms = [(each, _recognised(each)) for each in files[:most]]
    return [(each, form[0].name) for each, form in forms if form]


def _recognised(file: Path) -> sniff.Recognised | None:
    """Return a file's kind and format, None if it is no capture."""
    try:
        return sniff.recognised(file)
    except CaptureError:
        return None


def capture(
    path: Path, recognised: sniff.Recognised | None = None, extent: Extent = "whole"
) -> Subject:
    """Return the capture at ``path``; ``recognised`` is its kind and format if sniffed before."""
    if recognised is None:
        _check(path)
    kind, form = recognised or sniff.recognised(path)
    with sniff.opened(path, form=form) as plain:
        bounded.allow(path, confined.budget(plain, _ANALYSIS_S))
        try:
            contents = reading.read(kind, plain, extent)
        except CaptureError as error:  # of an unpacked copy: name the user's file
            raise CaptureError(error.what, where=path, remedy=error.remedy) from error
    tables = {name: contents.tables.get(name, evidence.empty(name)) for name in evidence.SCHEMAS}
    return Subject(
        str(path), {kind.name: Capture(str(path), tables, contents.conditions, kind.name)}
    )


def _check(path: Path) -> None:
    """Raise CaptureError if a run or report has recorded another file under this path."""
    folder = path.absolute().parent
    if folder.parent.name == "cells":
        from harness.store import run_folder

        if (folder / run_folder.RECORD).is_file():
            record = run_folder.record_of(folder)
            if path.name in record.artifacts:
                run_folder.verified(folder, record, path.name)
    elif folder.name == "captures" and (folder.parent / "evidence").is_dir() and path.is_file():
        from harness.evidence import capture_list

        capture_list.check(path)
