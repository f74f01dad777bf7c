"""The captures that a report keeps: redacted, compressed, and divided between git and the store.

Of each case, variant and artifact one file is kept. Those that the report's page names go into git
first, then the most telling kinds, small files before large ones, up to ``GIT_BYTES``. The others
go into the local store, from where ``harness contribute --push`` copies them.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.evidence import capture_list
from harness.evidence.capture_list import CaptureList, KeptCapture
from harness.evidence.cell_record import Artifact
from harness.evidence.kind import Kept
from harness.evidence.kinds import KINDS
from harness.ground import files
from harness.ground.errors import CaptureError
from harness.problem.model import Problem
from harness.store import capture_store, run_folder

GIT_BYTES = 450_000
"""The most bytes that the captures of one report may take in git."""

_OF_PROBLEM_RANK = 2
"""A problem's own artifacts come between the text captures and the binary ones."""

_MOST_TEXT_BYTES = 16_000_000
"""The most bytes of a kept text that are read."""

_LINK = re.compile(r"captures/([\w.+-]*\w)", re.ASCII)


@dataclass(frozen=True)
class _Source:
    """An artifact to keep: its file, how it is kept, its cell, and what was recorded of it."""

    path: Path
    kept: Kept
    name: str
    cell: str
    recorded: Artifact


@dataclass(frozen=True)
class Prepared:
    """A capture as the report may keep it, and the rank of its kind among those that go to git.

    ``is_here``: its file is, and not only in a store.
    """

    capture: KeptCapture
    rank: int
    is_here: bool = True


def prepare(
    problem: Problem, run: run_folder.Run, cells: Collection[str], report: Path
) -> list[Prepared]:
    """Write the redacted, compressed captures of ``cells`` into the report's captures/.

    Raises CaptureError if an artifact differs from what its cell recorded.
    """
    folder = report / "captures"
    folder.mkdir()
    published = _published(run, folder)
    held = {entry.capture.name for entry in published}
    sources = [each for each in _sources(problem, run, cells) if each.name not in held]
    new = [Prepared(_prepared(source, folder), source.kept.rank) for source in sources]
    return sorted([*published, *new], key=lambda entry: entry.capture.name)


def _published(run: run_folder.Run, folder: Path) -> list[Prepared]:
    """Copy the captures of the report that the run goes on from; they are of its first rounds."""
    if run.report is None:
        return []
    listed = capture_list.read(run.report / "evidence")
    ranks = {kept.name: kept.rank for kind in KINDS.values() for kept in kind.kept}
    prepared = []
    for capture in listed.captures if listed else ():
        path = run.report / "captures" / capture.name
        if capture.in_git:
            capture_list.check(path)
            shutil.copyfile(path, folder / capture.name)
        rank = ranks.get(capture.artifact, _OF_PROBLEM_RANK)
        prepared.append(Prepared(capture, rank, is_here=capture.in_git))
    return prepared


def divide(
    prepared: Sequence[Prepared], pages: str, report: Path, store: Path
) -> tuple[KeptCapture, ...]:
    """Return the list of a report's captures, which then stands in its evidence.

    Captures that exceed ``GIT_BYTES`` are moved to ``store``; those that the text of ``pages``
    links to stay first.
    """
    in_git = _fitting(prepared, named=set(_LINK.findall(pages)))
    for entry in prepared:
        if entry.is_here and entry.capture.name not in in_git:
            moved = report / "captures" / entry.capture.name
            capture_store.add(store, moved, entry.capture.sha256)
            moved.unlink()
    listed = tuple(
        entry.capture.model_copy(update={"in_git": entry.capture.name in in_git})
        for entry in prepared
    )
    capture_list.write(report / "evidence", CaptureList(captures=listed))
    return listed


def text_of(report: Path, case: str, variant: str, artifact: str) -> tuple[str, str] | None:
    """Return name and text of a workload's own artifact that a report keeps, None if it has none.

    Raises CaptureError if the file is not the one that was published.
    """
    import zstandard

    name = f"{case}.{variant}.{artifact}.zst"
    path = report / "captures" / name
    if not path.is_file():
        return None
    capture_list.check(path)
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
            return name, reader.read(_MOST_TEXT_BYTES).decode(errors="replace")
    except (OSError, zstandard.ZstdError) as error:
        raise CaptureError(f"not readable: {error}", where=path) from None


def _sources(problem: Problem, run: run_folder.Run, cells: Collection[str]) -> list[_Source]:
    """Return one artifact of each case, variant and file name, in the order of kept names.

    The kind that slows the workload least and the first round count; of a cell that was run again,
    the newest record.
    """
    best: dict[str, tuple[tuple[int, int, float], _Source]] = {}
    own = tuple(Kept(name, _OF_PROBLEM_RANK, compressed=True) for name in problem.keep)
    for folder, record in run.records():
        if not record.ok or record.name not in cells:
            continue
        kind = KINDS[record.capture]
        order = (kind.cost, record.round, -record.started)
        for kept in (*kind.kept, *own):
            recorded = record.artifacts.get(kept.name)
            suffix = ".zst" if kept.compressed else ""
            name = files.safe_name(f"{record.case}.{record.variant}.{kept.name}{suffix}")
            if recorded and (name not in best or order < best[name][0]):
                path = run_folder.verified(folder, record, kept.name)
                source = _Source(path, kept, name, record.name, recorded)
                best[name] = (order, source)
    return [source for _, (_, source) in sorted(best.items())]


def _prepared(source: _Source, folder: Path) -> KeptCapture:
    """Write the redacted, compressed copy of an artifact into ``folder`` and describe it."""
    copy = folder / source.name
    _write(source.path, source.kept, copy)
    return KeptCapture(
        name=source.name,
        sha256=files.sha256(copy),
        bytes=copy.stat().st_size,
        in_git=False,
        cell=source.cell,
        artifact=source.path.name,
        artifact_sha256=source.recorded.sha256,
        artifact_bytes=source.recorded.bytes,
    )


def _fitting(prepared: Iterable[Prepared], named: Collection[str]) -> set[str]:
    """Return the names of the captures that go into git."""
    fitting = set()
    free = GIT_BYTES
    for _, _, size, name in sorted(
        (entry.capture.name not in named, entry.rank, entry.capture.bytes, entry.capture.name)
        for entry in prepared
        if entry.is_here
    ):
        if size <= free:
            fitting.add(name)
            free -= size
    return fitting


def _write(source: Path, kept: Kept, target: Path) -> None:
    """Write an artifact as it may be published; the same artifact gives the same bytes."""
    with tempfile.TemporaryDirectory(prefix="capture-") as scratch:
        plain = source
        if kept.redact:
            plain = Path(scratch) / source.name
            kept.redact(source, plain)
        with files.regular(plain) as file, target.open("wb") as copy:
            if not kept.compressed:
                shutil.copyfileobj(file, copy)
                return
            import zstandard

            size = os.fstat(file.fileno()).st_size
            zstandard.ZstdCompressor(level=19).copy_stream(file, copy, size=size)
