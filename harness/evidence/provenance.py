"""Where evidence comes from: what ``run.json`` and ``provenance.json`` hold.

A field that an earlier harness did not record is None, or empty; a field that only a later one
knows is kept as it stands.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from harness.evidence import shared
from harness.evidence.cell_record import Artifact, CellRecord, GpuSummary
from harness.evidence.kinds import tools
from harness.evidence.record import Many, Record, parsed
from harness.ground import files
from harness.ground.errors import CaptureError, EvidenceError

VERSION = 1
"""Raised with every change that makes older records unreadable."""

EVIDENCE_VERSION = 2
"""Raised as ``VERSION`` is; in evidence of version 1, which is read as well, nothing is shared."""

FILE = "provenance.json"
"""The record's name in an evidence folder."""

_SETTINGS = ("capture", "case", "lock", "variant")
"""The first words of the parts of a problem's state that are no scripts."""


def is_script(part: str) -> bool:
    """Return whether a part of a problem's state is a script or a data file."""
    return part.partition(" ")[0] not in _SETTINGS


class GpuRecord(Record):
    """One GPU; memory in bytes, ``cuda`` the highest version that the driver supports."""

    name: str
    driver: str
    uuid: str | None = None
    index: int | None = None
    compute_capability: str | None = None
    memory_bytes: int | None = None
    cuda: str | None = None


class ToolRecord(Record):
    """A profiler's program and its version."""

    path: str
    version: str


class TargetRecord(Record):
    """The machine that a run was made on; ``slug`` names its folder under reports/.

    ``tools`` are the profilers' programs by name, None where one was not installed; ``more_gpus``
    the GPUs that cells of several GPUs used beside ``gpu``, or could have used.
    """

    name: str
    slug: str
    device: Literal["cuda", "cpu"]
    gpu: GpuRecord | None = None
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    system: str | None = None
    tools: dict[str, ToolRecord | None] = Field(default_factory=dict)
    counters_restricted: bool | None = None
    more_gpus: list[GpuRecord] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _tools_in_one(cls, value: Any) -> Any:
        """Gather the tools that an earlier harness recorded as fields of the target."""
        if not isinstance(value, Mapping) or "tools" in value:
            return value
        fields = {name: value[name] for name in tools() if name in value}
        rest = {key: item for key, item in value.items() if key not in fields}
        return rest | {"tools": fields}


class Git(Record):
    """The checkout's commit, and whether files but reports differ from it; None outside one."""

    commit: str | None = None
    changed: bool | None = None


class EngineRecord(Record):
    """What ran the cells; ``image`` and the fields after it are those of a container."""

    engine: str
    where: str
    python: str
    packages_from: str | None = None
    locks: dict[str, str] = Field(default_factory=dict)
    version: str | None = None
    image: str | None = None
    image_digest: str | None = None
    capabilities: Many[str] = ()


class RunArguments(Record):
    """The options of ``harness run`` that shape a measurement, and the plan that they made.

    ``short``: the short path of a problem was planned; ``full``: all that its manifest then asked
    for; ``planned`` names the plan's cells.
    """

    rounds: int | None = None
    jobs: int | None = None
    engine: str | None = None
    cells: int | None = None
    lock_clocks_mhz: int | None = None
    short: bool | None = None
    full: bool | None = None
    planned: Many[str] = ()


class Rate(Record):
    """One ceiling in ``unit``, with the ends of its 99 % interval and its number of rounds."""

    unit: str
    value: float
    low: float | None = None
    high: float | None = None
    rounds: int | None = None


class Ceilings(Record):
    """The rates that one GPU (``gpu``: its UUID) reaches at most, by name."""

    gpu: str
    rates: dict[str, Rate]
    version: int | None = None
    name: str | None = None
    driver: str | None = None
    measured: str | None = None
    doubts: Many[str] = ()


class Job(Record):
    """The job of a batch system that ran cells: its id, its node, and how often it was requeued."""

    system: str
    id: str
    node: str
    restarts: int = 0


class StartedClaim(Record):
    """A claim as a run was started with it.

    ``statement``: without its layout. ``bound``: above, below or between. ``definition``: the
    digest of what else decides: what is compared, and the metrics. ``since``: the commit and the
    day since which the manifest has the claim so, None where git does not tell.
    """

    statement: str
    bound: dict[str, float | Many[float]]
    definition: str
    since: str | None = None


class Origin(Record):
    """One ``harness run`` call: the problem, the software and the target it ran on.

    ``claims`` are those that it was started with, ``state`` the parts of the problem that decide
    what its cells do, each with its digest (harness/problem/state.py). ``sources_sha256`` is an
    earlier harness's, of the scripts' bytes. ``job``: the batch system's job that the call ran in,
    None outside of one.
    """

    problem: str
    target: TargetRecord
    harness: str | None = None
    git: Git = Git()
    manifest_sha256: str | None = None
    sources_sha256: str | None = None
    engine: EngineRecord | None = None
    arguments: RunArguments = RunArguments()
    started: str | None = None
    ceilings: Ceilings | None = None
    job: Job | None = None
    claims: dict[str, StartedClaim] | None = None
    state: dict[str, str] | None = None

    @property
    def scripts(self) -> dict[str, str] | None:
        """Return the parts of the state that are scripts, None if none was recorded."""
        if self.state is None:
            return None
        return {name: digest for name, digest in self.state.items() if is_script(name)}


class Provenance(Origin):
    """A run: the call that began it (UTC ``id``) and the calls that went on with it."""

    version: int
    id: str
    resumed: Many[Origin] = ()

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Return the run's own origin and those of the calls that went on with it."""
        return self, *self.resumed

    @property
    def is_short(self) -> bool:
        """Return whether the run was asked for the short path only."""
        return all(origin.arguments.short for origin in self.origins)

    @property
    def planned(self) -> frozenset[str]:
        """Return the names of the cells that the run was to have.

        A call that planned all replaces what earlier calls planned: the manifest may have changed.
        After it, a call for so many rounds adds none: a report does without further rounds.
        """
        names: frozenset[str] = frozenset()
        is_whole = False
        for arguments in (origin.arguments for origin in self.origins):
            if arguments.full:
                names, is_whole = frozenset(arguments.planned), True
            elif not (is_whole and arguments.rounds):
                names |= frozenset(arguments.planned)
        return names

    def with_jobs(self, jobs: Sequence[Origin]) -> "Provenance":
        """Return the run with the origins of the ``jobs`` that executed it.

        The machine that submitted them ran no cell: its target, engine, ceilings and state are the
        first job's. The claims are those that it submitted.
        """
        if not jobs:
            return self
        first, *others = jobs
        ran = {key: getattr(first, key) for key in ("target", "engine", "ceilings", "job", "state")}
        return self.model_copy(update={**ran, "resumed": (*self.resumed, *others)})


class CellProvenance(Record):
    """A cell as evidence keeps it: all but the numbers, which are tables."""

    cell: str
    status: str
    reason: str
    wall_s: float
    started: float
    seen: GpuSummary
    gpu: str | None
    phases: dict[str, float] = Field(default_factory=dict)
    params: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    command: Many[str] = ()
    packages: dict[str, str] = Field(default_factory=dict)
    artifacts: dict[str, Artifact] = Field(default_factory=dict)
    imported: str | None = None

    @classmethod
    def of(cls, record: CellRecord) -> "CellProvenance":
        """Return the part of a cell's record that evidence keeps."""
        return cls(
            cell=record.name,
            status=record.status,
            reason=record.reason,
            wall_s=record.wall_s,
            started=record.started,
            seen=record.seen,
            gpu=record.gpu,
            phases=record.phases,
            params=record.params,
            settings=record.settings,
            command=record.command.argv,
            packages=record.workload.packages,
            artifacts=record.artifacts,
            imported=record.imported,
        )


class EvidenceProvenance(Record):
    """Where an evidence folder comes from (``provenance.json``): the run and each of its cells.

    ``tables`` are size and sha256 of each file of tables, by the table's name; ``met`` the ids of
    earlier runs that reproduced a claim as it stood when this one was published, by the claim's id.
    The file has what cells share but once: see :mod:`harness.evidence.shared`.
    """

    run: Provenance
    cells: Many[CellProvenance]
    version: int = EVIDENCE_VERSION
    tables: dict[str, Artifact] = Field(default_factory=dict)
    met: dict[str, Many[str]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _restored(cls, value: Any) -> Any:
        """Give each cell its values again; evidence of version 1 has them there."""
        if not isinstance(value, Mapping):
            return value
        cells, values = value.get("cells"), value.get("shared")
        if not (isinstance(cells, list) and isinstance(values, list)):
            return value
        rest = {key: item for key, item in value.items() if key != "shared"}
        return rest | {"version": EVIDENCE_VERSION, "cells": shared.restored(cells, values)}

    @property
    def gpus(self) -> dict[str, str | None]:
        """Return the UUID of the GPU that each cell ran on, None on a CPU."""
        return {cell.cell: cell.gpu for cell in self.cells}

    @property
    def unfinished(self) -> tuple[int, int] | None:
        """Return how many of how many planned cells were run, None if all of them were."""
        planned = self.run.planned
        ran = planned & {cell.cell for cell in self.cells}
        return (len(ran), len(planned)) if ran < planned else None


def load(folder: Path) -> EvidenceProvenance:
    """Return the provenance of an evidence folder.

    Raises CaptureError if the folder holds none, StoreError or EvidenceError if it is damaged or of
    another version.
    """
    path = folder / FILE
    if not path.is_file():
        raise CaptureError("no evidence here", where=folder, remedy="harness report --tables-only")
    document = files.read_json(path)
    version = document.get("version", VERSION)
    if version not in (VERSION, EVIDENCE_VERSION):
        raise EvidenceError(
            f"provenance of version {version!r:.20}, this harness reads {EVIDENCE_VERSION}",
            where=path,
            remedy="use the harness that made it",
        )
    return parsed(EvidenceProvenance, document, path)


def save(
    folder: Path, run: Provenance, cells: list[CellProvenance], tables: Mapping[str, Artifact]
) -> None:
    """Write the provenance of an evidence folder, which vouches for its ``tables``."""
    write(folder, EvidenceProvenance(run=run, cells=tuple(cells), tables=dict(tables)))


def write(folder: Path, provenance: EvidenceProvenance) -> None:
    """Write a whole provenance into its evidence folder."""
    record = provenance.as_json()
    record["cells"], record["shared"] = shared.share(record["cells"])
    files.write_json(folder / FILE, record, dense=True)
