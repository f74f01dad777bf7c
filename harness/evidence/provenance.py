"""Where evidence comes from: what ``run.json``, ``cell.json`` and ``provenance.json`` hold.

Every record is read and written through these models. A field that an earlier harness did not
record is None, or empty; a field that only a later one knows is kept as it stands.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Strict, ValidationError, model_validator

from harness import files
from harness.captures.registry import tools
from harness.errors import CaptureError, EvidenceError

VERSION = 1
"""Raised with every change that makes older records unreadable."""

FILE = "provenance.json"
"""The record's name in an evidence folder."""

Item = TypeVar("Item")
Model = TypeVar("Model", bound="Record")
Many = Annotated[tuple[Item, ...], Strict(strict=False)]  # a JSON array is read as a tuple


class Record(BaseModel):
    """The base of every record: immutable, strictly typed, with unknown keys kept."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", protected_namespaces=())

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON-ready data; reading it again gives an equal record."""
        return self.model_dump(mode="json")


class Gpu(Record):
    """One GPU; memory in bytes, ``cuda`` the highest version that the driver supports."""

    name: str
    driver: str
    uuid: str | None = None
    index: int | None = None
    compute_capability: str | None = None
    memory_bytes: int | None = None
    cuda: str | None = None


class Tool(Record):
    """A profiler's program and its version."""

    path: str
    version: str


class Target(Record):
    """The machine that a run was made on; ``slug`` names its folder under reports/.

    ``tools`` are the profilers' programs by name, None where one was not installed.
    """

    name: str
    slug: str
    device: Literal["cuda", "cpu"]
    gpu: Gpu | None = None
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    system: str | None = None
    tools: dict[str, Tool | None] = {}
    counters_restricted: bool | None = None

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
    """The checkout's commit and whether files differ from it; None outside a checkout."""

    commit: str | None = None
    changed: bool | None = None


class Engine(Record):
    """What ran the cells; ``image`` and the fields after it are those of a container."""

    engine: str
    where: str
    python: str
    packages_from: str | None = None
    locks: dict[str, str] = {}
    version: str | None = None
    image: str | None = None
    image_digest: str | None = None
    capabilities: Many[str] = ()


class Arguments(Record):
    """The options of ``harness run`` that shape a measurement."""

    rounds: int | None = None
    jobs: int | None = None
    engine: str | None = None
    cells: int | None = None
    lock_clocks_mhz: int | None = None


class Rate(Record):
    """One ceiling in ``unit``, with the ends of its 95 % interval and its number of rounds."""

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


class Origin(Record):
    """One ``harness run`` call: the problem, the software and the target it ran on."""

    problem: str
    target: Target
    harness: str | None = None
    git: Git = Git()
    manifest_sha256: str | None = None
    sources_sha256: str | None = None
    engine: Engine | None = None
    arguments: Arguments = Arguments()
    started: str | None = None
    ceilings: Ceilings | None = None


class Provenance(Origin):
    """A run: the call that began it (UTC ``id``) and the calls that went on with it."""

    version: int
    id: str
    resumed: Many[Origin] = ()

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Return the run's own origin and those of the calls that went on with it."""
        return self, *self.resumed


class Spread(Record):
    """The least, the middle and the greatest of a figure's readings."""

    min: float
    median: float
    max: float


class GpuSummary(Record):
    """The GPU while a cell measured, over ``samples`` readings.

    A figure is None where NVML refused it. ``throttle_reasons`` count the readings in which a
    reason held; ``others`` are foreign processes, None where an earlier harness did not look.
    """

    samples: int
    sm_mhz: Spread | None = None
    memory_mhz: Spread | None = None
    power_w: Spread | None = None
    temperature_c: Spread | None = None
    throttle_reasons: dict[str, int] = {}
    others: Many[str] | None = None


class Artifact(Record):
    """A file that a cell left."""

    sha256: str
    bytes: int


class Sample(Record):
    """One repeated measurement; ``mark`` says whether it is a warm-up or an outlier."""

    metric: str
    value: float
    region: str | None = None
    unit: str | None = None
    index: int | None = None
    mark: str | None = None


class Sampling(Record):
    """How the samples of a region's metric were taken; ``seconds`` is how long that took."""

    region: str
    metric: str
    steps: int
    taken: int
    warmup: int
    outliers: int
    half_width: float | None
    target: float | None
    stopped: str
    seconds: float


class Fact(Record):
    """A number or a text that a workload states of itself."""

    name: str
    unit: str
    value: float | None = None
    text: str | None = None


_Unnamed = Annotated[tuple[float, float], Strict(strict=False)]
_Named = Annotated[tuple[float, float, str], Strict(strict=False)]
Window = _Named | _Unnamed
"""Start and end in seconds since the epoch; region, which an earlier harness did not record."""


class WorkloadRecord(Record):
    """What the workload's process wrote (``workload.json``).

    ``windows`` are the stretches of time in which it measured.
    ``declared`` counts the ranges by name that a profiler's capture has to hold.
    """

    samples: Many[Sample] = ()
    sampling: Many[Sampling] = ()
    windows: Many[Window] = ()
    facts: Many[Fact] = ()
    declared: dict[str, int] = {}
    packages: dict[str, str] = {}


class CommandRecord(Record):
    """A cell's command without this machine's paths."""

    argv: Many[str] = ()
    env: dict[str, str] = {}


class CellRecord(Record):
    """How a cell ran (``cell.json``).

    ``gpu`` is a UUID, None on a CPU. ``idle_s`` is the pause of the run before the cell, None
    before the first. ``doubts`` say why its times may not be relied on, None if nothing watched
    the GPU; ``retried`` say the same of a first try. ``counted`` is the profiler's own count.
    """

    variant: str
    case: str
    capture: str
    round: int
    status: str
    reason: str
    wall_s: float
    started: float
    seen: GpuSummary
    gpu: str | None
    id: str | None = None
    returncode: int | None = None
    command: CommandRecord = CommandRecord()
    params: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    idle_s: float | None = None
    doubts: Many[str] | None = None
    retried: Many[str] = ()
    counted: dict[str, int] = {}
    workload: WorkloadRecord = WorkloadRecord()
    artifacts: dict[str, Artifact] = {}

    @property
    def name(self) -> str:
        """Return the cell's name in evidence."""
        return f"{self.case}.{self.variant}.{self.capture}.r{self.round}"

    @property
    def ok(self) -> bool:
        """Return whether the cell ran to its end and left everything."""
        return self.status == "ok"


class CellProvenance(Record):
    """A cell as evidence keeps it: all but the numbers, which are tables."""

    cell: str
    status: str
    reason: str
    wall_s: float
    started: float
    seen: GpuSummary
    gpu: str | None
    params: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    command: Many[str] = ()
    packages: dict[str, str] = {}
    artifacts: dict[str, Artifact] = {}

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
            params=record.params,
            settings=record.settings,
            command=record.command.argv,
            packages=record.workload.packages,
            artifacts=record.artifacts,
        )


class EvidenceProvenance(Record):
    """Where an evidence folder comes from (``provenance.json``): the run and each of its cells."""

    run: Provenance
    cells: Many[CellProvenance]
    version: int = VERSION

    @property
    def gpus(self) -> dict[str, str | None]:
        """Return the UUID of the GPU that each cell ran on, None on a CPU."""
        return {cell.cell: cell.gpu for cell in self.cells}


def parsed(model: type[Model], value: Mapping[str, Any], path: Path) -> Model:
    """Return ``value``, which ``path`` holds, as a record.

    Raises EvidenceError that names the file and the first key whose value is missing or of
    another type.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise EvidenceError(f"{key}: {first['msg']}", where=path) from None


def read(model: type[Model], path: Path) -> Model:
    """Return the record that the JSON file at ``path`` holds.

    Raises StoreError if it is missing or no JSON object, EvidenceError as :func:`parsed` does.
    """
    return parsed(model, files.read_json(path), path)


def load(folder: Path) -> EvidenceProvenance:
    """Return the provenance of an evidence folder.

    Raises CaptureError if the folder holds none, StoreError or EvidenceError if it is damaged or of
    another version.
    """
    path = folder / FILE
    if not path.is_file():
        raise CaptureError("no evidence here", where=folder, remedy="harness extract")
    origin = read(EvidenceProvenance, path)
    if origin.version != VERSION:
        raise EvidenceError(
            f"provenance of version {origin.version}, this harness reads {VERSION}",
            where=path,
            remedy="use the harness that made it",
        )
    return origin


def save(folder: Path, run: Provenance, cells: list[CellProvenance]) -> None:
    """Write the provenance of an evidence folder."""
    files.write_json(folder / FILE, EvidenceProvenance(run=run, cells=tuple(cells)).as_json())
