"""Packs a report for a pull request: its evidence without what names the machine, rendered anew."""

import shutil
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.captures.formats.compressed import blocks
from harness.contribute.private import Private
from harness.evidence import capture_list, provenance
from harness.evidence import tables as evidence
from harness.evidence.capture_list import CaptureList
from harness.evidence.provenance import EvidenceProvenance
from harness.extract import door
from harness.ground import files
from harness.ground.errors import UsageError
from harness.problem.model import Problem
from harness.report import index, publish

if TYPE_CHECKING:
    import polars as pl

_BLOCK = 1 << 22
_OVERLAP = 256
"""Bytes that blocks of a capture share, so that a name on their border is found."""


@dataclass(frozen=True)
class PackedReport:
    """What an archive holds: the report's folder, and which captures had to stay behind."""

    folder: str
    left_out: tuple[str, ...]


def pack(problem: Problem, report: Path, archive: Path, private: Private) -> PackedReport:
    """Write ``archive`` (.tar.gz) with the report that a pull request adds.

    UsageError for a report that is not committed: of a CPU, or a partial or unfinished one; and for
    another file in the place of ``archive``. A capture that holds a private word in plain bytes
    stays behind.
    """
    files.check_output(archive, "an archive of harness contribute", _is_archive)
    subject = door.report(report)
    _check(report, subject.origin)
    with tempfile.TemporaryDirectory(prefix="contribution-") as scratch:
        slug = files.safe_name(subject.origin.run.target.slug)
        built = Path(scratch) / "reports" / problem.folder.name / slug
        (built / "evidence").mkdir(parents=True)
        cleaned = {
            name: without_names(table, private)
            for name, table in subject.tables.items()
            if table.height
        }
        origin = _without_names(subject.origin, private)
        written = evidence.save(built / "evidence", cleaned)
        provenance.write(built / "evidence", origin.model_copy(update={"tables": written}))
        left_out = _copy_captures(report, built, private)
        publish.render(problem, built)
        with files.atomic_file(archive) as temporary:
            _write(temporary, Path(scratch))
    return PackedReport(f"reports/{problem.folder.name}/{slug}", left_out)


def without_names(table: "pl.DataFrame", private: Private) -> "pl.DataFrame":
    """Return a table whose texts are cleaned."""
    import polars as pl

    for column in table.columns:
        kind = table[column].dtype
        if kind not in (pl.String, pl.Categorical):
            continue
        texts = table[column].cast(pl.String).unique().drop_nulls().to_list()
        changed = {text: clean for text in texts if (clean := private.cleaned(text)) != text}
        if changed:
            replaced = pl.col(column).cast(pl.String).replace(changed).cast(kind)
            table = table.with_columns(replaced)
    return table


def _is_archive(head: bytes) -> bool:
    """Return whether a file begins as an archive of ours: with a file below reports/."""
    try:
        first = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, tarfile.BLOCKSIZE)
    except zlib.error:
        return False
    return first.startswith(b"reports/") and first[156:157] == tarfile.REGTYPE


def _check(report: Path, origin: EvidenceProvenance) -> None:
    """Raise UsageError for a report that is not to be committed."""
    remedy = "CONTRIBUTING.md says which reports are"
    if origin.run.target.device == "cpu":
        raise UsageError("a report of a CPU is not committed", where=report, remedy=remedy)
    if report.resolve().name.endswith(index.PARTIAL):
        raise UsageError("a partial report is not committed", where=report, remedy=remedy)
    if origin.unfinished:
        ran, planned = origin.unfinished
        what = f"{ran} of {planned} cells were run"
        raise UsageError(what, where=report, remedy="harness run --resume, then harness report")


def _without_names(origin: EvidenceProvenance, private: Private) -> EvidenceProvenance:
    """Return a provenance without commands, jobs, folders of tools, and names."""
    document = origin.as_json()
    for call in (document["run"], *document["run"]["resumed"]):
        call["job"] = None
        for tool in call["target"]["tools"].values():
            if tool:
                tool["path"] = Path(tool["path"]).name
    for cell in document["cells"]:
        cell["command"] = []  # its paths are this machine's
    return EvidenceProvenance.model_validate(private.cleaned_data(document))


def _copy_captures(report: Path, built: Path, private: Private) -> tuple[str, ...]:
    """Copy the captures that hold no private word, with their list; return the others' names."""
    listed = capture_list.read(report / "evidence")
    if listed is None:
        return ()
    (built / "captures").mkdir()
    kept, left_out = [], []
    for capture in listed.captures:
        path = report / "captures" / capture.name
        if not capture.in_git or not path.is_file():
            kept.append(capture.model_copy(update={"in_git": False}))
            continue
        capture_list.check(path)
        if _names_something(path, private):
            left_out.append(capture.name)
        else:
            shutil.copyfile(path, built / "captures" / capture.name)
            kept.append(capture)
    capture_list.write(built / "evidence", CaptureList(captures=tuple(kept)))
    return tuple(left_out)


def _names_something(capture: Path, private: Private) -> bool:
    before = b""
    for block in blocks(capture, _BLOCK):
        if any(private.found((before + block).decode("utf-8", errors="replace"))):
            return True
        before = block[-_OVERLAP:]
    return False


def _write(archive: Path, folder: Path) -> None:
    """Write the files below a folder; the same files give the same archive."""
    import gzip

    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as writer,
    ):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                member = tarfile.TarInfo(path.relative_to(folder).as_posix())
                member.size = path.stat().st_size
                with path.open("rb") as content:
                    writer.addfile(member, content)
