"""captures.json: the captures that a report keeps, in git or in the content-addressed store."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness import files
from harness.errors import EvidenceError

NAME = "captures.json"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=0)]


class KeptCapture(BaseModel):
    """One file that a report keeps, and the artifact of a cell that it was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,149}$")]
    sha256: Sha256
    bytes: Bytes
    """Size and hash of the kept file: redacted and compressed."""
    in_git: bool
    cell: str
    artifact: str
    artifact_sha256: Sha256
    artifact_bytes: Bytes
    """Size and hash of the artifact as the cell left it."""


class CaptureList(BaseModel):
    """All captures of one report, by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    captures: tuple[KeptCapture, ...]


def write(evidence: Path, captures: CaptureList) -> None:
    """Write the list into an evidence folder."""
    files.write_json(evidence / NAME, captures.model_dump(mode="json"))


def read(evidence: Path) -> CaptureList | None:
    """Return the list of an evidence folder, None for a report older than the list.

    Raises EvidenceError if the file is damaged or of another version.
    """
    path = evidence / NAME
    if not path.exists():
        return None
    try:
        return CaptureList.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise EvidenceError(f"{place}: {first['msg']}", where=path) from error
    except OSError as error:
        raise EvidenceError(f"not readable: {error.strerror}", where=path) from error
