"""The documents of ``harness check`` and ``harness explain-claim`` with ``--json``."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Exact(BaseModel):
    """A document without other keys than these."""

    model_config = ConfigDict(extra="forbid")


Verdict = Literal["reproduced", "refuted", "inconclusive", "not measured"]


class Judged(Exact):
    """A claim with its verdict."""

    id: str
    kind: Literal["bound", "advice"]
    verdict: Verdict
    statement: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    why: str
    doubt: str


class RecordedFile(Exact):
    """A file's hash and size as they were recorded."""

    sha256: str
    bytes: int


class KeptFile(RecordedFile):
    """The file that a run or report still holds; ``file`` is null where it lies outside git."""

    file: str | None


class ClaimArtifact(RecordedFile):
    """The capture that a cell left, with its hash then; a report keeps a redacted copy, or none."""

    name: str
    kept: KeptFile | None


class ClaimCell(Exact):
    """A cell behind a metric: its values of it; no artifact where the workload stated them."""

    cell: str
    gpu: str | None
    values: list[float]
    artifact: ClaimArtifact | None


class ClaimMetric(Exact):
    """A metric that decides a claim; ``source`` is the key and name that the manifest reads."""

    metric: str
    variant: str
    case: str
    capture: str
    source: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    why: str
    doubt: str
    tables: dict[str, RecordedFile]
    cells: list[ClaimCell]


class Explained(Judged):
    """A claim with its verdict, its bound (``least``, ``most``) and the metrics it rests on."""

    least: float | None
    most: float | None
    problem: str
    subject: str
    run: str
    target: str
    metrics: list[ClaimMetric]


class Side(Exact):
    """A value with its interval."""

    value: float | None
    low: float | None
    high: float | None
    unit: str


class Changed(Exact):
    """A metric that both runs measured; ``factor`` is now over then, with its interval."""

    metric: str
    variant: str
    case: str
    outcome: str
    factor: float | None
    low: float | None
    high: float | None
    then: Side
    now: Side
    why: str


class Compared(Exact):
    """What changed since ``--against``, and the claims that are newly refuted."""

    changes: list[Changed]
    newly_refuted: list[str]


class FileFault(Exact):
    """A file that is not as it was recorded, by its path in the folder, and what is wrong."""

    file: str
    what: str


class FilesChecked(Exact):
    """What ``--deep`` checked: files and their bytes, faults, captures that are not here."""

    folder: str
    files: int
    bytes: int
    faults: list[FileFault]
    elsewhere: int
