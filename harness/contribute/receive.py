"""Checks a report that somebody sends: its files, its seals, its names; renders and judges it anew.

Nothing of it is trusted: no template comes with it, an archive holds nothing but plain files with
the names of a report, and the command is bounded as all that read what strangers made
(:mod:`harness.ground.bounded`).
"""

import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.captures.formats.compressed import blocks
from harness.contribute.private import Private
from harness.evidence import capture_list
from harness.evidence.subject import Folder
from harness.extract import door
from harness.ground import files
from harness.ground.errors import CaptureError, HarnessError, UsageError
from harness.problem import manifest
from harness.report import publish, recorded
from harness.report.verdicts import by_verdict, tally

_FILE = re.compile(
    r"README\.md|card\.json|figures/[\w.+-]+\.(?:svg|json)|pages/[\w.+-]+\.md"
    r"|evidence/(?:\w+\.parquet|provenance\.json|captures\.json)|captures/[\w.+-]+",
    re.ASCII,
)
_MOST_FILES = 2_000
_MOST_BYTES = 64 << 20
_MOST_UNPACKED = _MOST_BYTES + _MOST_FILES * 4 * tarfile.BLOCKSIZE
"""Bytes of an archive: its files, and of each the header, a long name and what fills its block."""
_LONGEST_NAME = 512
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE)


@dataclass(frozen=True)
class ReceivedReport:
    """A report as it came in: its faults, and the verdicts on its claims here."""

    folder: str
    faults: tuple[str, ...]
    verdicts: str = ""


def check(source: Path, problems: Path) -> ReceivedReport:
    """Check a report's folder, or the archive that ``harness contribute`` wrote.

    UsageError for what is neither.
    """
    if source.is_dir():
        return _checked(source, problems, f"{source.parent.name}/{source.name}")
    with tempfile.TemporaryDirectory(prefix="contribution-") as scratch:
        folder = _unpacked(source, Path(scratch))
        return _checked(folder, problems, f"{folder.parent.name}/{folder.name}")


def _checked(folder: Path, problems: Path, name: str) -> ReceivedReport:
    faults = list(_odd_files(folder))
    if faults:
        return ReceivedReport(name, tuple(faults))
    try:
        problem_name, target = name.split("/")
        problem = manifest.find(problems, problem_name)
        report = door.report(folder)
        faults = [*_of_origin(report, problem_name, target), *_captures(folder), *_names(report)]
        with tempfile.TemporaryDirectory(prefix="rendered-") as scratch:
            again = Path(scratch) / target
            for part in ("evidence", "captures"):
                if (folder / part).is_dir():
                    shutil.copytree(folder / part, again / part)
            page, _ = publish.draw(problem, again, folder.parent)
            pages = recorded.IntegrityCheck(folder)
            recorded.hold_pages(pages, again)
            faults += [f"{fault.file} {fault.what}" for fault in pages.faults]
    except HarnessError as error:
        return ReceivedReport(name, (*faults, str(error).replace(f"{folder}/", "")))
    return ReceivedReport(name, tuple(faults), tally(by_verdict(page.results)))


def _odd_files(folder: Path) -> Iterator[str]:
    """Yield the faults of a report's files: links, other files, too many, too much."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir()]
    if len(paths) > _MOST_FILES or sum(path.lstat().st_size for path in paths) > _MOST_BYTES:
        yield f"more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB"
        return
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if oddity := files.oddity(path.lstat().st_mode):
            yield f"{name!a}: {oddity}"
        elif not _FILE.fullmatch(name):
            yield f"{name!a}: no file of a report"


def _of_origin(report: Folder, problem: str, target: str) -> Iterator[str]:
    """Yield why a report is not to be committed under this name."""
    origin = report.origin
    if origin.run.problem != problem:
        yield f"its evidence is of {origin.run.problem!a}"
    if origin.run.target.slug != target:
        yield f"its evidence was made on {origin.run.target.slug!a}"
    if origin.run.target.device == "cpu":
        yield "a report of a CPU is not committed"
    if origin.unfinished:
        yield "unfinished: {} of {} cells were run".format(*origin.unfinished)


def _captures(folder: Path) -> Iterator[str]:
    """Yield the captures that are not those of the list."""
    for capture in sorted((folder / "captures").glob("*")):
        try:
            capture_list.check(capture)
        except CaptureError as error:
            yield f"captures/{capture.name}: {error.what}"


def _names(report: Folder) -> Iterator[str]:
    """Yield what in a report's evidence names a machine or a person."""
    import json

    import polars as pl

    private = Private()
    for word in private.found(json.dumps(report.origin.as_json(), ensure_ascii=False)):
        yield f"provenance.json names {word!a}"
    if any(call.job for call in report.origin.run.origins):
        yield "provenance.json names the job of a batch system"
    for name, table in report.tables.items():
        for column in table.columns:
            if table[column].dtype in (pl.String, pl.Categorical):
                texts = table[column].cast(pl.String).unique().drop_nulls().to_list()
                for word in private.found("\n".join(texts)):
                    yield f"{name}.parquet, {column}, names {word!a}"


def _unpacked(archive: Path, scratch: Path) -> Path:
    """Unpack an archive into an empty folder and return the report's folder."""
    plain, to = scratch / "archive.tar", scratch / "unpacked"
    remedy = "give a report's folder, or what harness contribute wrote"
    try:
        _write_plain(archive, plain)
        _check_headers(plain, archive)
        with tarfile.open(plain, "r:") as packed:
            folder = _report_in(packed.getmembers(), archive)
            packed.extractall(to, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise UsageError(f"no contribution: {error}", where=archive, remedy=remedy) from None
    except CaptureError as error:
        raise UsageError(f"no contribution: {error.what}", where=archive, remedy=remedy) from None
    return to / folder


def _write_plain(archive: Path, plain: Path) -> None:
    """Write the archive without its compression; UsageError if it holds too much."""
    size = 0
    with plain.open("xb") as file:
        for block in blocks(archive, 1 << 20):
            size += len(block)
            if size > _MOST_UNPACKED:
                raise _too_much(archive)
            file.write(block)


def _too_much(archive: Path) -> UsageError:
    return UsageError(f"more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB", where=archive)


def _check_headers(plain: Path, archive: Path) -> None:
    """Refuse all but plain files and short names before tarfile reads a header.

    tarfile takes the length of a name, and what a pax header says of the next file, as they stand.
    """
    is_name = False
    with plain.open("rb") as file:
        while (header := file.read(tarfile.BLOCKSIZE)).strip(b"\0"):
            member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
            was_name, is_name = is_name, member.type == tarfile.GNUTYPE_LONGNAME
            is_short = is_name and not was_name and member.size <= _LONGEST_NAME
            if member.size < 0 or not (is_short or member.type in _PLAIN):
                raise _no_file(member.name, archive)
            if member.size > _MOST_BYTES:
                raise _too_much(archive)
            file.seek(-(-member.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE, os.SEEK_CUR)


def _no_file(name: str, archive: Path) -> UsageError:
    return UsageError(f"holds {ascii(name)[:100]}, which is no file of a report", where=archive)


def _report_in(members: Sequence[tarfile.TarInfo], archive: Path) -> str:
    """Return the folder of the one report whose files an archive holds, each of them once."""
    if len(members) > _MOST_FILES or sum(member.size for member in members) > _MOST_BYTES:
        raise _too_much(archive)
    folders, names = set(), set()
    for member in members:
        parts = member.name.split("/")
        top, problem, target = [*parts, "", "", ""][:3]
        is_report = top == "reports" and _FILE.fullmatch("/".join(parts[3:]))
        if not is_report or not all(map(files.is_safe, parts)):
            raise _no_file(member.name, archive)
        if member.name in names:
            raise UsageError(f"holds {member.name} twice", where=archive)
        names.add(member.name)
        folders.add(f"{top}/{problem}/{target}")
    if len(folders) != 1:
        raise UsageError(
            f"holds {len(folders)} reports", where=archive, remedy="send one at a time"
        )
    return folders.pop()
