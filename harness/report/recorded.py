"""Whether the files of a run or a report are as they were recorded: every one of them, to the bit.

A cell's record holds size and sha256 of what the cell left, a report's provenance those of its
tables, its list those of its captures, and each record the sha256 of itself. What has no hash,
pages and figures, is rendered again. Nothing is written beside the files.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from harness.evidence import capture_list, provenance
from harness.evidence.capture_list import CaptureList
from harness.evidence.cell_record import Artifact, CellRecord
from harness.evidence.provenance import EvidenceProvenance, Origin, Provenance
from harness.evidence.record import Record, read
from harness.ground import files
from harness.ground.errors import EvidenceError, StoreError
from harness.problem.model import Problem
from harness.report import card, publish
from harness.store import capture_store, run_folder, run_lock

_CHANGED = "changed since it was recorded"
_MISSING = "is missing"
_UNKNOWN = "nothing vouches for it: no record lists it"
_UNSEALED = "nothing vouches for it: its own sha256 is missing, as an earlier harness wrote it"
_UNLISTED = "is missing, and nothing vouches for captures: an earlier harness wrote no such list"
_OTHER = "is not what its evidence renders to (harness report --report FOLDER)"
_DRAWN = ("figures", publish.PAGES)
"""The folders of a report whose files are rendered."""

Model = TypeVar("Model", bound=Record)


@dataclass(frozen=True)
class Fault:
    """A file that is not as it was recorded, by its path in the folder, and what is wrong."""

    file: str
    what: str


@dataclass
class IntegrityCheck:
    """What was checked: the bytes of each file, and the faults.

    ``elsewhere``: captures that a report lists and that are neither in it nor in the store.
    ``rendered``: whether a report's pages were held against its evidence, None for a run.
    """

    folder: Path
    sizes: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    elsewhere: int = 0
    rendered: bool | None = None

    def note(self, file: str, what: str) -> None:
        """Note a fault."""
        self.faults.append(Fault(file, what))


def of_run(folder: Path) -> IntegrityCheck:
    """Check a run: its record, each cell's, each file that a cell left; a report's that it holds.

    Not checked is what a run only works with: its lock, ``scratch/``, and the logs of its jobs.
    """
    checked = IntegrityCheck(folder)
    listed = {"run.json", run_lock.FILE}
    _record(checked, "run.json", Provenance)
    for path in sorted(folder.glob("jobs/*/*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".json":
            _record(checked, name, Origin if name.endswith(".origin.json") else Record)
        listed.add(name)
    for path in sorted(folder.glob(f"cells/[!.]*/{run_folder.RECORD}")):
        cell = path.parent.relative_to(folder).as_posix()
        listed.add(f"{cell}/{run_folder.RECORD}")
        record = _record(checked, f"{cell}/{run_folder.RECORD}", CellRecord)
        if record is None:  # it says what else belongs to the cell
            listed |= {name for name in _names(folder) if name.startswith(f"{cell}/")}
            continue
        listed |= _files(checked, cell, record.artifacts)
    if run_folder.Run(folder).report:
        within = f"{run_folder.REPORT}/"
        listed |= _evidence(checked, within) | _captures(checked, None, within)
    _others(checked, listed, lambda name: name.startswith("scratch/"))
    return checked


def of_report(folder: Path, store: Path, problem: Callable[[], Problem]) -> IntegrityCheck:
    """Check a report: its evidence, its captures, here and in the local store, and its pages.

    Pages and figures are rendered again where the evidence is as it was recorded; ``problem``
    returns the problem whose templates render them.
    """
    checked = IntegrityCheck(folder)
    listed = {"README.md", card.NAME} | {
        f"{part}/{path.name}" for part in _DRAWN for path in (folder / part).glob("*")
    }
    listed |= _evidence(checked) | _captures(checked, store)
    if os.path.lexists(folder / card.NAME):
        _record(checked, card.NAME, card.ReportCard)
    _others(checked, listed, lambda _: False)
    checked.rendered = not checked.faults
    if checked.rendered:
        _render(checked, problem())
    return checked


def _evidence(checked: IntegrityCheck, within: str = "") -> set[str]:
    """Check the evidence of the report that is ``within`` the folder; return its files."""
    name = f"{within}evidence/{provenance.FILE}"
    record = _record(checked, name, EvidenceProvenance)
    if record is None:  # it says which tables belong to the evidence
        return {name, *(each for each in _names(checked.folder) if each.endswith(".parquet"))}
    tables = {f"{table}.parquet": artifact for table, artifact in record.tables.items()}
    return {name, *_files(checked, f"{within}evidence", tables)}


def _captures(checked: IntegrityCheck, store: Path | None, within: str = "") -> set[str]:
    """Check the captures that a report keeps; return the files that belong to them."""
    captures = f"{within}captures"
    name = f"{within}evidence/{capture_list.NAME}"
    if not os.path.lexists(checked.folder / name):
        checked.note(name, _UNLISTED)
        return set()
    listed = _record(checked, name, CaptureList)
    if listed is None:
        mine = (each for each in _names(checked.folder) if each.startswith(f"{captures}/"))
        return {name, *mine}
    for capture in listed.captures:
        artifact = Artifact(sha256=capture.sha256, bytes=capture.bytes)
        kept = store / capture_store.relative(capture.sha256) if store else None
        if capture.in_git:
            _file(checked, f"{captures}/{capture.name}", artifact)
        if kept and os.path.lexists(kept):
            _file(checked, str(kept), artifact)
        elif not capture.in_git:
            checked.elsewhere += 1
    in_git = (f"{captures}/{capture.name}" for capture in listed.captures if capture.in_git)
    return {name, *in_git}


def _record(checked: IntegrityCheck, name: str, model: type[Model]) -> Model | None:
    """Check a record by its own hash; return its contents, None if they cannot be known."""
    path = checked.folder / name
    try:
        record = read(model, path, unsealed=True)
        if not files.is_sealed(path):
            checked.note(name, _UNSEALED)
    except (StoreError, EvidenceError) as error:
        checked.note(name, error.what)
        return None
    checked.sizes[name] = path.lstat().st_size
    return record


def _files(checked: IntegrityCheck, folder: str, artifacts: Mapping[str, Artifact]) -> set[str]:
    """Check the files of a folder that a record lists; return their paths."""
    for name, artifact in artifacts.items():
        if files.is_safe(name):
            _file(checked, f"{folder}/{name}", artifact)
        else:  # a record that was made to lead elsewhere
            checked.note(f"{folder}/{name}", "no name of a file that the harness wrote")
    return {f"{folder}/{name}" for name in artifacts}


def _file(checked: IntegrityCheck, name: str, recorded: Artifact) -> None:
    """Check a file by its recorded size and hash; ``name`` may be a path outside of the folder."""
    path = checked.folder / name
    if not os.path.lexists(path):
        checked.note(name, _MISSING)
        return
    try:
        measured = run_folder.artifact_of(path, at_most=recorded.bytes)
    except StoreError as error:
        checked.note(name, error.what)
        return
    checked.sizes[name] = measured.bytes
    if measured.bytes != recorded.bytes:
        checked.note(name, f"{_CHANGED}: {measured.bytes} bytes instead of {recorded.bytes}")
    elif measured.sha256 != recorded.sha256:
        checked.note(name, f"{_CHANGED}: its sha256 is another")


def _others(checked: IntegrityCheck, listed: set[str], works: Callable[[str], bool]) -> None:
    """Note the files that no record lists, but those that something only ``works`` with."""
    for name in _names(checked.folder):
        if name not in listed and not works(name):
            checked.note(name, _UNKNOWN)


def _names(folder: Path) -> Iterator[str]:
    """Yield the path in a folder of everything below it that is no folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(folder).as_posix()


def _render(checked: IntegrityCheck, problem: Problem) -> None:
    """Render a report's pages and figures again, and note those that are others."""
    with tempfile.TemporaryDirectory(prefix="rendered-") as scratch:
        again = Path(scratch) / checked.folder.name
        for part in ("evidence", "captures"):
            if (checked.folder / part).is_dir():
                shutil.copytree(checked.folder / part, again / part)
        publish.render(problem, again, checked.folder.parent)
        hold_pages(checked, again)


def hold_pages(checked: IntegrityCheck, again: Path) -> None:
    """Note the pages and figures that are others than those rendered in the folder ``again``."""
    for name in sorted({*_pages(checked.folder), *_pages(again)}):
        _page(checked, name, again / name)


def _pages(folder: Path) -> Iterator[str]:
    yield from ("README.md", card.NAME)
    for part in _DRAWN:
        for path in (folder / part).glob("*"):
            yield f"{part}/{path.name}"


def _page(checked: IntegrityCheck, name: str, again: Path) -> None:
    """Hold a page or figure against the one that was rendered again."""
    here = checked.folder / name
    if not os.path.lexists(here):
        checked.note(name, _MISSING)
        return
    try:
        with files.regular(here) as file:
            content = file.read()
    except StoreError as error:
        checked.note(name, error.what)
        return
    checked.sizes[name] = len(content)
    if not again.is_file() or content != again.read_bytes():
        checked.note(name, _OTHER)
