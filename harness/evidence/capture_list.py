"""captures.json: the captures that a report keeps, in git or in the content-addressed store.

Files of studies that stand in the store are listed in problems/stored.json, which is kept by hand.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from harness.evidence import record
from harness.evidence.record import Many, Record
from harness.ground import files
from harness.ground.errors import CaptureError

NAME = "captures.json"
STORED = "stored.json"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=0)]


class StoredFile(Record, extra="forbid"):
    """One file by its content, size in bytes.

    ``git_blob``: git's id of the content, if a commit of this repository once held it.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,149}$")]
    sha256: Sha256
    bytes: Bytes
    git_blob: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None


class KeptCapture(StoredFile):
    """One file that a report keeps, redacted and compressed, and the artifact it was made from."""

    in_git: bool
    cell: str
    artifact: str
    artifact_sha256: Sha256
    artifact_bytes: Bytes
    """Size and hash of the artifact as the cell left it."""


class CaptureList(Record, extra="forbid"):
    """All captures of one report, by name."""

    version: Literal[1] = 1
    captures: Many[KeptCapture]


class StoredList(Record):
    """The files of studies that the store holds."""

    version: Literal[1] = 1
    files: Many[StoredFile]


def write(evidence: Path, captures: CaptureList) -> None:
    """Write the list into an evidence folder."""
    files.write_json(evidence / NAME, captures.as_json())


def read(evidence: Path) -> CaptureList | None:
    """Return the list of an evidence folder, None for a report older than the list.

    Raises StoreError or EvidenceError if the file is damaged or of another version.
    """
    path = evidence / NAME
    return record.read(CaptureList, path) if path.exists() else None


def stored(problems: Path) -> tuple[StoredFile, ...]:
    """Return the files of studies that the store holds; StoreError or EvidenceError as `read`."""
    path = problems / STORED
    return record.read(StoredList, path, unsealed=True).files if path.exists() else ()


def check(capture: Path) -> None:
    """Raise CaptureError if a file in a report's captures/ is not the one that was published.

    A report older than the list vouches for none.
    """
    listed = read(capture.parent.parent / "evidence")
    if listed is None:
        return
    published = {kept.name: kept for kept in listed.captures}.get(capture.name)
    if published is None:
        raise CaptureError(f"the report's {NAME} lists no such capture", where=capture)
    if capture.stat().st_size != published.bytes or files.sha256(capture) != published.sha256:
        raise CaptureError("is not the capture that was published", where=capture)
