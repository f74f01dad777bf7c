"""The run folder: what lies where, what is whole, and that it still is what was recorded.

runs/<problem>/<run>/run.json            provenance: what was asked, on what, with what
runs/<problem>/<run>/cells/<cell>/       one folder a cell, published whole
    cell.json                            how it ran, and each artifact's sha256 and size
    log.txt, trace.sqlite …              what it left
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import files
from harness.errors import CaptureError, StoreError

VERSION = 1
RECORD = "cell.json"


class Run:
    """One run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, runs: Path, problem: str, provenance: dict[str, Any]) -> "Run":
        """Make a new run folder, named by the time it began (UTC)."""
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        run = cls(runs / files.safe_name(problem) / stamp)
        if run.folder.exists():
            raise StoreError("a run began here within this second", where=run.folder)
        files.write_json(run.folder / "run.json", {"version": VERSION, "id": stamp, **provenance})
        return run

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open an existing run folder."""
        run = cls(folder.resolve())
        if not (folder / "run.json").is_file():
            raise StoreError("not a run folder: it has no run.json", where=folder)
        if run.provenance.get("version") != VERSION:
            raise StoreError(
                f"run of version {run.provenance.get('version')}, this harness reads {VERSION}",
                where=folder,
                remedy="use the harness that made it",
            )
        return run

    @classmethod
    def latest(cls, runs: Path, problem: str) -> "Run":
        """Open the newest run of a problem."""
        found = sorted((runs / problem).glob("*/run.json"))
        if not found:
            raise StoreError(
                f"no run of {problem}", where=runs, remedy=f"make one: harness run {problem}"
            )
        return cls.open(found[-1].parent)

    @property
    def provenance(self) -> dict[str, Any]:
        """Return run.json."""
        return files.read_json(self.folder / "run.json")

    def cell(self, cell_id: str) -> Path:
        """Return where a cell is published."""
        return self.folder / "cells" / files.safe_name(cell_id)

    def finished(self, cell_id: str) -> bool:
        """Return whether a cell ran to its end and was published."""
        record = self.cell(cell_id) / RECORD
        return record.is_file() and files.read_json(record)["status"] == "ok"

    def records(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield folder and record of each published cell, by name."""
        for path in sorted((self.folder / "cells").glob(f"*/{RECORD}")):
            yield path.parent, files.read_json(path)


def differing(
    one: Mapping[str, Any], other: Mapping[str, Any], **also: str
) -> Iterator[tuple[str, Any, Any]]:
    """Yield what keeps two provenances from being of one run, and what each says of it.

    That is the problem, the target with its GPU's driver, and ``also``: what, and under which key.
    """
    for what, key in {"problem": "problem", **also, "target": "target"}.items():
        then, now = (_named(known[key]) for known in (one, other))
        if then != now:
            yield what, then, now


def _named(value: Any) -> str:
    """Return what has to be the same of a target: its name, and its GPU's driver."""
    if not isinstance(value, dict):
        return str(value)
    return f"{value['name']}, driver {(value['gpu'] or {}).get('driver')}"


def fingerprint(folder: Path) -> dict[str, dict[str, Any]]:
    """Return sha256 and size in bytes of each file in a cell's folder, by name."""
    return {
        path.name: {"sha256": files.sha256(path), "bytes": path.stat().st_size}
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != RECORD
    }


def verified(folder: Path, record: dict[str, Any], name: str) -> Path:
    """Return the path of an artifact after checking that it still is what was published."""
    path = folder / name
    known = record["artifacts"].get(name)
    if known is None or not path.is_file():
        raise CaptureError("the cell left no such file", where=path)
    if path.stat().st_size != known["bytes"] or files.sha256(path) != known["sha256"]:
        raise CaptureError(
            "changed since it was recorded (size or sha256 differs)",
            where=path,
            remedy="run the cell again: harness run --resume",
        )
    return path
