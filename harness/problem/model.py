"""The contents of a ``problem.yaml``, as models."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    Tag,
    model_validator,
)

from harness.evidence.kinds import KINDS
from harness.problem import sources
from harness.problem.fields import (
    SCRIPT,
    Capability,
    CaptureKind,
    Device,
    Line,
    Name,
    Rounds,
    Script,
    Text,
    Variable,
    one_line,
)
from harness.problem.needed import Needed, needed
from harness.problem.scripts import is_file
from harness.problem.settings import Settings

_TIMED = frozenset({"s", "ms", "µs", "ns", "Hz", "MHz", "W", "J", "mJ", "%", "×"})
"""Units of what is measured, not counted: shares and factors are of times."""
_MANY = Field(max_length=500)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Environment(_Model):
    """Pinned packages laid over the base interpreter's torch, or an image with its own, or none."""

    lock: str | None = None
    image: str | None = Field(
        None, description="an image by digest in which its cells run, under --engine docker alone"
    )


class Variant(_Model):
    """One configuration that is compared with the others."""

    label: Line
    environment: Name
    options: dict[str, Any] = {}
    variables: dict[Variable, Line] = Field({}, description="environment variables of its cells")
    needs: Device | None = Field(None, description="the device without which it cannot run")
    capability: Capability | None = Field(
        None, description="the compute capability that its kernels need: 9.0 alone, or 8.0+"
    )
    tunes: bool = Field(
        False, description="its first run has GPU and jobs to itself: see docs/measurement.md"
    )
    caches_of: Name | None = Field(
        None,
        description="the variant whose compiled code it finds: both compile the same kernels",
    )
    gpu_memory_gb: float | None = Field(
        None, gt=0, le=10_000, description="if its cells take less than the case says, in 10⁹ B"
    )


class Case(_Model):
    """One set of workload parameters."""

    label: Line
    params: dict[str, Any] = {}
    on_cpu: dict[str, Any] = Field({}, description="parameters that replace others on a CPU")
    script: Script = Field(SCRIPT, description="what its cells run, beside the manifest")
    needs: Device | None = None
    capability: Capability | None = Field(None, description="as of a variant")
    rounds: Rounds | None = Field(None, description="of its timing cells, if not the capture's")
    gpus: int = Field(1, ge=1, le=1024, description="GPUs that a cell of the case uses")
    loads_host: bool = Field(
        False,
        description="its cells load what GPUs of one host share (cores, memory, PCIe, power), or "
        "have ranks that wait for one another: each runs by itself",
    )
    gpu_memory_gb: float = Field(
        4, gt=0, le=10_000, description="GPU memory that a cell of the case takes at most, in 10⁹ B"
    )
    paired: bool = Field(
        False,
        description="its timing cells compare what runs in turn in one process, so that a GPU held "
        "back is noted and no reason to try again",
    )


class Recipe(_Model):
    """How one kind of capture is recorded, and for which cases and variants."""

    settings: Settings = Settings()
    flags: list[str] = Field([], max_length=100, description="further flags of the profiler")
    cells: dict[Name, list[Name] | Literal["all"]] = Field(
        {}, description="case to its variants; every case with every variant when empty"
    )
    needs: Device | None = None
    deadline_s: float = Field(600, gt=0, le=7 * 24 * 3600)
    rounds: Rounds = Field(5, description="processes in which a timing cell is repeated")


class Metric(_Model):
    """A named number: the capture that it comes from, and its source in there.

    Exactly one of ``sample`` (a repeated measurement of the workload), ``fact`` (stated once),
    ``measure`` (computed from the capture: see harness/analysis/metrics.py) and ``counter`` (what
    Nsight Compute calls it, of the step's longest kernel).
    """

    label: Line
    unit: Annotated[str, Field(max_length=40), AfterValidator(one_line)]
    capture: CaptureKind
    sample: str | None = None
    fact: str | None = None
    measure: str | None = None
    counter: str | None = Field(
        None, description="Nsight Compute's name of what it counted, of the step's longest kernel"
    )
    per: str | None = Field(None, description="a fact that the value is divided by")
    region: str | None = Field(
        None, description="the samples of this region alone, or the fact that ends in .REGION"
    )
    members: str | None = Field(
        None,
        description="a fact that names each region's group: a region called like a group, or `all`,"
        " is the mean over its regions, and the interval allows for which regions were drawn",
    )
    start: Literal["first", "later"] | None = Field(
        None, description="only the round that compiles and tunes, or those that find its caches"
    )
    paired: bool = Field(
        default=False, description="each sample compares what one process measured in turn"
    )
    gpu_state: bool = Field(
        default=False,
        description="the metric is the GPU's clock or power, so a power cap is what it tells",
    )
    better: Literal["lower", "higher"] = "lower"

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = (self.sample, self.fact, self.measure, self.counter)
        if sum(source is not None for source in sources) != 1:
            raise ValueError(
                "has no or several sources (give exactly one of sample, fact, measure and counter)"
            )
        return self

    @property
    def timed(self) -> bool:
        """Return whether it is a time, a rate or an energy, in which processes differ.

        So is whatever is measured where nothing profiles, such as the length of a queue. Other
        facts and counters are counts, sizes and errors, alike in each process that has the same
        operands.
        """
        unprofiled = bool(self.measure) and KINDS[self.capture].unprofiled
        return unprofiled or bool(self.sample) or self.unit in _TIMED or self.unit.endswith("/s")


class Selection(_Model):
    """Which variant and case a metric is taken of."""

    variant: Name | None = None
    case: Name | None = None
    metric: Name | None = None


class Bound(_Model):
    """The range that the claim states for the value: exactly one of the three."""

    above: float | None = None
    below: float | None = None
    between: Annotated[tuple[float, float], Strict(strict=False)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(bound is not None for bound in (self.above, self.below, self.between)) != 1:
            raise ValueError(
                "is no bound or several (give exactly one of above, below and between)"
            )
        if self.between and self.between[0] > self.between[1]:
            raise ValueError("between has its upper end first (swap the two)")
        return self


class Claim(_Model):
    """What every claim says, whichever its kind."""

    id: Name
    statement: Text
    metric: Name
    bound: Bound
    needs: Device | None = None
    otherwise: str = Field(
        "", max_length=2000, description="what is true instead, told when it is refuted"
    )
    headline: bool = Field(default=False, description="the short path runs the cells it needs")


Place: TypeAlias = tuple[str, str, str]
"""A metric, a variant and a case."""


class BoundClaim(Claim):
    """A statement with a bound on a metric, or on the ratio of two (``of`` over ``over``)."""

    kind: Literal["bound"] = "bound"
    of: Selection
    over: Selection | None = None

    def place(self, side: Selection) -> Place:
        """Return what one side is measured by; ``over`` inherits from ``of``."""
        variant = side.variant or self.of.variant
        case = side.case or self.of.case
        return side.metric or self.metric, variant, case  # type: ignore[return-value]  # checked at load

    @property
    def sides(self) -> list[Place]:
        """Return the places that it compares, or the one that it bounds."""
        return [self.place(side) for side in (self.of, self.over) if side]


class Advice(Claim):
    """What to do: take one variant instead of another, for a gain in a metric that a user feels.

    ``statement`` says what to do. The gain is an improvement factor, so more is better: the metric
    of ``instead_of`` over that of ``take``, or the inverse where a higher value is better.
    """

    kind: Literal["advice"]
    take: Name = Field(description="the variant that is recommended")
    instead_of: Name = Field(description="the variant that the gain is measured against")
    at: list[Name] = Field(
        min_length=1, max_length=100, description="the cases it holds in, both ends of a range"
    )
    holds_for: Line = Field(description="the range in words")
    costs: str = Field("", description="what the reader gives for it, in words")
    pays: list[Name] = Field(
        [], max_length=100, description="metrics of which the ratio to instead_of is a cost"
    )
    but: dict[Name, str] = Field(
        {}, alias="except", description="variants that are no alternatives, each with the reason"
    )
    bound: Bound = Field(Bound(above=1.0), description="the least gain; above 1 if absent")

    @property
    def sides(self) -> list[Place]:
        """Return the places that it compares."""
        sides = (self.take, self.instead_of)
        return [(self.metric, variant, case) for case in self.at for variant in sides]


def _kind(claim: object) -> object:
    """Return the kind of a claim; without one a claim is of kind bound."""
    kind = claim.get("kind", "bound") if isinstance(claim, dict) else "bound"
    return getattr(claim, "kind", kind)


UNKNOWN_KIND = "kind_of_claim"
"""The type of the error of a claim of another kind."""

AnyClaim = BoundClaim | Advice
_TaggedClaim = Annotated[
    Annotated[BoundClaim, Tag("bound")] | Annotated[Advice, Tag("advice")],
    Discriminator(
        _kind,
        custom_error_type=UNKNOWN_KIND,
        custom_error_message="no such kind of claim (a claim is of kind bound or advice)",
    ),
]


class Reference(_Model):
    """Figures that others published; never mixed with what was measured here."""

    source: Text
    gpu: Line
    software: Line
    columns: list[Line]
    rows: list[list[str | float | None]]


class Short(_Model):
    """The short path: the cells that headline claims need, in few rounds."""

    rounds: Rounds = Field(default=3, description="processes in which it repeats a timing cell")


class Card(_Model):
    """The study in short, as reports/README.md shows it while ``claim`` stands."""

    sentence: Text = Field(description="what the study found, without a measured number")
    claim: Name = Field(description="the claim whose measured value is the headline number")
    number: Line = Field(description="what that value is, as it reads after it")


class Problem(_Model):
    """One case study."""

    title: Line
    summary: Text
    environments: Annotated[dict[Name, Environment], _MANY]
    variants: Annotated[dict[Name, Variant], _MANY]
    baseline: Name
    cases: Annotated[dict[Name, Case], _MANY]
    captures: dict[CaptureKind, Recipe]
    metrics: Annotated[dict[Name, Metric], _MANY]
    claims: Annotated[list[_TaggedClaim], _MANY]
    short: Short = Short()
    references: Annotated[dict[Name, Reference], _MANY] = {}
    card: Card | None = None
    workloads: list[str] = Field(
        [], description="files of problems/workloads/ that its scripts import, such as decoder.py"
    )
    needs_problems: list[str] = Field(
        [],
        max_length=100,
        description="other problems' folders that its scripts use, such as 4-custom-hgemm",
    )
    keep: list[str] = Field(
        [],
        description="artifacts of its own that a report keeps beside the captures' own, of one "
        "timing cell a variant and case",
    )

    _folder: Path = Path()
    _needed: Needed = Needed()

    @property
    def advice(self) -> "list[Advice]":
        """Return the claims that are advice."""
        return [claim for claim in self.claims if isinstance(claim, Advice)]

    @property
    def folder(self) -> Path:
        """Return the problem's folder."""
        return self._folder

    @property
    def scripts(self) -> list[Path]:
        """Return the files that a cell runs and reads: its folder's, then the shared workloads."""
        shared = [self.shared / name for name in self.workloads]
        return [*sources.of(self._folder), *filter(is_file, shared)]

    @property
    def needed(self) -> Needed:
        """Return the other problems' folders that cells see beside the problem's own."""
        return self._needed

    @property
    def used(self) -> dict[str, Path]:
        """Return the files there that the scripts use, as FOLDER/FILE."""
        return sources.used(self.scripts, self.needed.folders)

    @property
    def shared(self) -> Path:
        """Return the folder of workloads that several problems use."""
        return self._folder.parent / "workloads"

    def lie_in(self, folder: Path) -> None:
        """Say which folder the manifest was read from."""
        self._folder = folder
        self._needed = needed(folder, self.needs_problems)

    @property
    def number(self) -> int:
        """Return the problem's number, which its folder's name starts with."""
        return int(self._folder.name.split("-")[0])

    def metric(self, name: str) -> Metric:
        """Return a metric; NAME@REGION is that metric in one region. KeyError if unknown."""
        base, _, region = name.partition("@")
        metric = self.metrics[base]
        return metric.model_copy(update={"region": region}) if region else metric

    def covers(self, kind: CaptureKind, variant: str, case: str, device: Device) -> bool:
        """Return whether the plan has this capture of this variant and case on ``device``."""
        capture = self.captures.get(kind)
        if capture is None:
            return False
        needs = (capture.needs, self.variants[variant].needs, self.cases[case].needs)
        variants = capture.cells.get(case, []) if capture.cells else "all"
        return all(need in (None, device) for need in needs) and (
            variants == "all" or variant in variants
        )
