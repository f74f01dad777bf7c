"""The run folder: its layout, which cells are whole, and that files are still as recorded.

runs/<problem>/<run>/run.json            provenance: what was asked, on what, with what
runs/<problem>/<run>/lock                held by the harness that executes the run
runs/<problem>/<run>/jobs/<number>/      jobs of a batch system, which execute the run instead
    <part>.<job>.origin.json             what a job ran on, written by that job alone
runs/<problem>/<run>/report/             the published report that the run goes on from, if any
runs/<problem>/<run>/cells/<cell>/       one folder a cell, published whole
    cell.json                            how it ran, and each artifact's sha256 and size
    log.txt, export.txt                  what its process and the profiler's exports printed
    trace.sqlite, output_code.py …       what it left: regular files, each the harness's own now
"""

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from harness.evidence import provenance as evidence
from harness.evidence.cell_record import Artifact, CellRecord
from harness.evidence.provenance import (
    VERSION,
    EvidenceProvenance,
    Origin,
    Provenance,
    TargetRecord,
)
from harness.evidence.record import read
from harness.ground import files
from harness.ground.errors import CaptureError, EvidenceError, StoreError
from harness.store import run_lock, temporary

RECORD = "cell.json"
REPORT = "report"
_AGAIN = "run the cell again: harness run --resume"

_NAME = re.compile(r"([0-9]{8}-[0-9]{6})(?:-([0-9]+))?")


class Run:
    """One run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._token: str | None = None

    @classmethod
    def create(cls, runs: Path, problem: str, origin: Origin) -> "Run":
        """Make a new run folder, named by the time it began (UTC) and after all that are there."""
        while True:
            name = next_name(runs / files.safe_name(problem))
            made = Provenance.model_validate(dict(origin) | {"version": VERSION, "id": name})
            run = cls(runs / problem / name)
            if files.filled_folder(run.folder, lambda folder: cls(folder).note(made)):  # noqa: B023
                return run

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open an existing run folder."""
        run = cls(folder.resolve())
        if not (folder / "run.json").is_file():
            raise StoreError("not a run folder: it has no run.json", where=folder)
        version = files.read_json(folder / "run.json", unsealed=True).get("version")
        if version != VERSION:
            raise StoreError(
                f"run of version {version!r:.20}, this harness reads {VERSION}",
                where=folder,
                remedy="use the harness that made it",
            )
        return run

    @classmethod
    def latest(cls, runs: Path, problem: str) -> "Run":
        """Open the newest run of a problem."""
        folders = cls.folders(runs, problem)
        if not folders:
            raise StoreError(
                f"no run of {problem}", where=runs, remedy=f"make one: harness run {problem}"
            )
        return cls.open(folders[-1])

    @classmethod
    def folders(cls, runs: Path, problem: str) -> list[Path]:
        """Return the folders of a problem's runs, the oldest first."""
        folders = (path.parent for path in (runs / problem).glob("[!.]*/run.json"))
        return sorted(folders, key=lambda folder: _order(folder.name))

    def begun(self, _runs: Path) -> "Run":
        """Return the run that goes on: this one."""
        return self

    @contextlib.contextmanager
    def alone(self) -> Iterator[str]:
        """Keep other harnesses from executing this run; yield its token. May be entered again.

        Raises StoreError as ``run_lock.held`` does.
        """
        if self._token is not None:
            yield self._token
            return
        with run_lock.held(self.folder) as self._token:
            try:
                yield self._token
            finally:
                self._token = None

    def remove_leftovers(self) -> None:
        """Remove the half-written files of a harness that was killed.

        The caller holds the run alone, so nobody works on it.
        """
        for folder in (self.folder, self.folder / "cells"):
            for path in folder.glob(".*"):
                files.remove(path)
        for path in (self.folder / "scratch" / "tmp").glob("*"):
            temporary.remove(path)

    @property
    def provenance(self) -> Provenance:
        """Return run.json with the jobs' origins; StoreError or EvidenceError if one is damaged."""
        return self.recorded.with_jobs(
            [read(Origin, path) for path in sorted(self.folder.glob("jobs/*/[!.]*.origin.json"))]
        )

    @property
    def recorded(self) -> Provenance:
        """Return run.json alone; StoreError or EvidenceError if it is damaged."""
        return read(Provenance, self.folder / "run.json", unsealed=True)

    def note(self, provenance: Provenance) -> None:
        """Write run.json."""
        files.write_json(self.folder / "run.json", provenance.as_json())

    def cell(self, cell_id: str) -> Path:
        """Return the folder of a published cell."""
        return self.folder / "cells" / files.safe_name(cell_id)

    def finished(self, cell_id: str) -> bool:
        """Return whether a cell ran to its end and was published."""
        record = self.cell(cell_id) / RECORD
        return record.is_file() and record_of(record.parent).ok

    @property
    def report(self) -> Path | None:
        """Return the folder of the report that the run goes on from, None if there is none."""
        folder = self.folder / REPORT
        return folder if folder.is_dir() else None

    @cached_property
    def reported(self) -> EvidenceProvenance | None:
        """Return where the report's evidence comes from, None if the run goes on from no report."""
        return evidence.load(self.report / "evidence") if self.report else None

    @cached_property
    def published(self) -> frozenset[str]:
        """Return the names of the cells that ran well by the report that the run goes on from."""
        cells = self.reported.cells if self.reported else ()
        return frozenset(cell.cell for cell in cells if cell.status == "ok")

    def records(self) -> Iterator[tuple[Path, CellRecord]]:
        """Yield folder and record of each published cell, by name."""
        for path in sorted((self.folder / "cells").glob(f"[!.]*/{RECORD}")):
            yield path.parent, record_of(path.parent)

    @property
    def unsealed(self) -> tuple[str, ...]:
        """Return the files that no hash vouches for, as an earlier harness wrote them."""
        records = [self.folder / "run.json", *sorted(self.folder.glob(f"cells/[!.]*/{RECORD}"))]
        return tuple(
            str(path.relative_to(self.folder)) for path in records if not files.is_sealed(path)
        )


def record_of(cell: Path) -> CellRecord:
    """Return the record in a cell's folder; StoreError or EvidenceError if it is damaged."""
    try:
        return read(CellRecord, cell / RECORD, unsealed=True)
    except (StoreError, EvidenceError) as error:
        remedy = "delete the cell's folder and run the cell again: harness run --resume"
        raise type(error)(error.what, where=error.where, remedy=remedy) from None


def copied(source: Path, names: Iterable[str], into: Path) -> None:
    """Copy a folder with these regular files, and nothing that else lies in it, ``into`` another.

    Raises StoreError as ``files.regular`` does.
    """
    target = into / source.name
    target.mkdir()
    for name in names:
        with files.regular(source / name) as file, (target / name).open("xb") as copy:
            shutil.copyfileobj(file, copy)


def next_name(folder: Path) -> str:
    """Return the name of the next run among those in ``folder``: the time now (UTC).

    If a run is there that began within this second, or later because the clock was set back, it is
    that run's name with the next number.
    """
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    there = folder.iterdir() if folder.is_dir() else ()
    stamp, number, _ = max((_order(path.name) for path in there), default=("", 0, ""))
    return now if now > stamp else f"{stamp}-{number + 1}"


def _order(name: str) -> tuple[str, int, str]:
    """Return what sorts the names of runs by when they were made; names of others come first."""
    match = _NAME.fullmatch(name)
    return (match[1], int(match[2] or 1), name) if match else ("", 0, name)


def differing(
    first: Origin, second: Origin, *, scripts: bool = False
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield each thing that keeps two origins from being of one run, with what both say of it.

    That is the problem, with ``scripts`` each script, and the target with its GPU's driver.
    """
    pairs = {"problem": (first.problem, second.problem)}
    sources = _scripts(first, second) if scripts else {}
    targets = {"target": (_named(first.target), _named(second.target))}
    for what, (then, now) in {**pairs, **sources, **targets}.items():
        if then != now:
            yield what, then, now


def _scripts(first: Origin, second: Origin) -> dict[str, tuple[str | None, str | None]]:
    """Return the digests of each script by two origins; of an earlier harness those of all."""
    if first.scripts is None or second.scripts is None:
        return {"scripts": (first.sources_sha256, second.sources_sha256)}
    names = sorted(first.scripts | second.scripts)
    return {name: (first.scripts.get(name), second.scripts.get(name)) for name in names}


def _named(target: TargetRecord) -> str:
    return f"{target.name}, driver {target.gpu.driver if target.gpu else None}"


def fingerprint(folder: Path) -> dict[str, Artifact]:
    """Return sha256 and size in bytes of each regular file in a cell's folder, by name."""
    return {
        path.name: artifact_of(path)
        for path in sorted(folder.iterdir())
        if path.name != RECORD and not files.oddity(path.lstat().st_mode)
    }


def verified(folder: Path, record: CellRecord, name: str) -> Path:
    """Return the path of an artifact after checking it against its recorded size and hash.

    Raises CaptureError if it differs, is missing, or is no regular file of the folder itself.
    """
    path = folder / name
    recorded = record.artifacts.get(name)
    if recorded is None or path.parent != folder or not os.path.lexists(path):
        raise CaptureError("the cell left no such file", where=path)
    try:
        measured = artifact_of(path, at_most=recorded.bytes)
    except StoreError as error:
        raise CaptureError(error.what, where=path, remedy=_AGAIN) from None
    if (measured.bytes, measured.sha256) != (recorded.bytes, recorded.sha256):
        what = "changed since it was recorded (size or sha256 differs)"
        raise CaptureError(what, where=path, remedy=_AGAIN)
    return path


def artifact_of(path: Path, at_most: int | None = None) -> Artifact:
    """Return sha256 and size of a regular file; of one larger than ``at_most``, the size alone.

    Raises StoreError as ``files.regular`` does.
    """
    with files.regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        read = at_most is None or size <= at_most
        digest = hashlib.file_digest(file, "sha256").hexdigest() if read else ""
    return Artifact(sha256=digest, bytes=size)
