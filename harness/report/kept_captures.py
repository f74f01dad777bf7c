"""The captures that a report keeps: redacted, compressed, and divided between git and the store.

Of each case, variant and artifact one file is kept. Those that the report's page names go into git
first, then the most telling kinds, small files before large ones, up to ``GIT_BYTES``. The others
go into the local store, from where ``harness captures push`` copies them.
"""

import re
import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import files
from harness.evidence import capture_list
from harness.evidence.capture_list import CaptureList, KeptCapture
from harness.report import redact
from harness.store import capture_store, run_folder

GIT_BYTES = 4_000_000
"""What the captures of one report may take in git."""

_KEPT = {
    "memory.json.gz": "",
    "trace.json.gz": "",
    "output_code.py": ".zst",
    "trace.sqlite": ".zst",
    "counters.ncu-rep": ".zst",
}
"""Artifacts to keep, the most telling first, and the suffix of their compression."""

_RANKS = {name: rank for rank, name in enumerate(_KEPT)}
_CAPTURES = ("timing", "torch", "memory", "nsys", "ncu")
_LINK = re.compile(r"captures/([\w.+-]*\w)", re.ASCII)


@dataclass(frozen=True)
class _Source:
    """An artifact to keep: its file, the name it is kept under, and what the cell recorded."""

    path: Path
    name: str
    cell: str
    sha256: str
    bytes: int


def keep(run: run_folder.Run, cells: Collection[str], page: str, report: Path, store: Path) -> None:
    """Write the captures of a report and their list; what exceeds ``GIT_BYTES`` goes to ``store``.

    ``cells`` names the cells whose artifacts count, ``page`` is the report's text. Raises
    CaptureError if an artifact differs from what its cell recorded.
    """
    kept = report / "captures"
    kept.mkdir()
    with tempfile.TemporaryDirectory(prefix="captures-") as scratch:
        captures = [_prepared(source, Path(scratch)) for source in _sources(run, cells)]
        in_git = _fitting(captures, named=set(_LINK.findall(page)))
        for capture in captures:
            prepared = Path(scratch) / capture.name
            if capture.name in in_git:
                shutil.copyfile(prepared, kept / capture.name)
            else:
                capture_store.add(store, prepared, capture.sha256)
    listed = (capture.model_copy(update={"in_git": capture.name in in_git}) for capture in captures)
    capture_list.write(report / "evidence", CaptureList(captures=tuple(listed)))


def _sources(run: run_folder.Run, cells: Collection[str]) -> list[_Source]:
    """Return one artifact of each case, variant and file name, in the order of kept names.

    The unprofiled, first round counts; of a cell that was run again, the newest record.
    """
    best: dict[str, tuple[tuple[int, int, float], _Source]] = {}
    for folder, record in run.records():
        case, variant, capture = record.case, record.variant, record.capture
        cell = record.name
        if not record.ok or cell not in cells:
            continue
        order = (_CAPTURES.index(capture), record.round, -record.started)
        for artifact in _KEPT.keys() & record.artifacts.keys():
            name = files.safe_name(f"{case}.{variant}.{artifact}{_KEPT[artifact]}")
            if name not in best or order < best[name][0]:
                path = run_folder.verified(folder, record, artifact)
                recorded = record.artifacts[artifact]
                source = _Source(path, name, cell, recorded.sha256, recorded.bytes)
                best[name] = (order, source)
    return [source for _, (_, source) in sorted(best.items())]


def _prepared(source: _Source, folder: Path) -> KeptCapture:
    """Write the redacted, compressed copy of an artifact into ``folder`` and describe it."""
    copy = folder / source.name
    _compress(source.path, copy)
    return KeptCapture(
        name=source.name,
        sha256=files.sha256(copy),
        bytes=copy.stat().st_size,
        in_git=False,
        cell=source.cell,
        artifact=source.path.name,
        artifact_sha256=source.sha256,
        artifact_bytes=source.bytes,
    )


def _fitting(captures: Sequence[KeptCapture], named: Collection[str]) -> set[str]:
    """Return the names of the captures that go into git."""
    fitting = set()
    free = GIT_BYTES
    for capture in sorted(
        captures,
        key=lambda capture: (
            capture.name not in named,
            _RANKS[capture.artifact],
            capture.bytes,
            capture.name,
        ),
    ):
        if capture.bytes <= free:
            fitting.add(capture.name)
            free -= capture.bytes
    return fitting


def _compress(source: Path, target: Path) -> None:
    """Copy an artifact as it may be published; the same artifact gives the same bytes."""
    if target.suffix != ".zst":
        shutil.copyfile(source, target)
        return
    import zstandard

    with tempfile.TemporaryDirectory(prefix="capture-") as scratch:
        if source.suffix == ".sqlite":
            redact.without_environment(source, Path(scratch) / source.name)
            source = Path(scratch) / source.name
        compressor = zstandard.ZstdCompressor(level=19)
        target.write_bytes(compressor.compress(source.read_bytes()))
