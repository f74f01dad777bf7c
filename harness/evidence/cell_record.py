"""How one cell ran: what ``cell.json`` and its workload's ``workload.json`` hold.

A field that an earlier harness did not record is None, or empty.
"""

from typing import Annotated, Any

from pydantic import Field, Strict

from harness.evidence.record import Many, Record


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
    throttle_reasons: dict[str, int] = Field(default_factory=dict)
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


class ProcessRecord(Record):
    """When a workload's process started, had its imports, and wrote its record (epoch seconds).

    ``spent``: seconds between the last two, by phase.
    """

    started: float
    loaded: float
    ended: float
    spent: dict[str, float]


class WorkloadRecord(Record):
    """The statements of the workload's process (``workload.json``).

    ``windows`` are the stretches of time in which it measured; ``process`` is when it did what.
    ``declared`` counts the ranges by name that a profiler's capture has to hold.
    """

    samples: Many[Sample] = ()
    sampling: Many[Sampling] = ()
    windows: Many[Window] = ()
    facts: Many[Fact] = ()
    declared: dict[str, int] = Field(default_factory=dict)
    packages: dict[str, str] = Field(default_factory=dict)
    process: ProcessRecord | None = None


class CommandRecord(Record):
    """A cell's command without this machine's paths."""

    argv: Many[str] = ()
    env: dict[str, str] = Field(default_factory=dict)


class CellRecord(Record):
    """How a cell ran (``cell.json``).

    ``gpu`` is a UUID, None on a CPU. ``idle_s`` is the pause of the run before the cell, None
    before the first. ``doubts`` say why its times may not be relied on, None if nothing watched
    the GPU; ``retried`` say the same of a first try. ``counted`` is the profiler's own count.
    ``phases`` are the seconds that it took by phase, as docs/measurement.md names them.
    ``imported`` names the file of a capture that was made without the harness.
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
    params: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    idle_s: float | None = None
    doubts: Many[str] | None = None
    retried: Many[str] = ()
    counted: dict[str, int] = Field(default_factory=dict)
    phases: dict[str, float] = Field(default_factory=dict)
    workload: WorkloadRecord = WorkloadRecord()
    artifacts: dict[str, Artifact] = Field(default_factory=dict)
    imported: str | None = None

    @property
    def name(self) -> str:
        """Return the cell's name in evidence."""
        return f"{self.case}.{self.variant}.{self.capture}.r{self.round}"

    @property
    def ok(self) -> bool:
        """Return whether the cell ran to its end and left everything."""
        return self.status == "ok"
