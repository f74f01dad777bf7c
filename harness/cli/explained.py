"""``harness check --claim``: a claim's verdict, back to samples, captures and their sha256."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from harness.analysis.origins import CellOrigin, MetricOrigin, origins
from harness.analysis.verdict import limits
from harness.cli import judgement, output
from harness.cli.judgement import Judged
from harness.evidence import capture_list
from harness.evidence.subject import Folder
from harness.ground.errors import UsageError
from harness.problem.model import Problem
from harness.problem.names import nearest
from harness.report.numbers import in_full, number, size
from harness.store.run_folder import Run


@dataclass(frozen=True)
class RecordedFile:
    """A file's hash and size as they were recorded."""

    sha256: str
    bytes: int


@dataclass(frozen=True)
class KeptFile:
    """The file that a run or report still holds; ``file`` is null where it lies outside git."""

    file: str | None
    sha256: str
    bytes: int


@dataclass(frozen=True)
class ClaimArtifact:
    """The capture that a cell left, with its hash then; a report keeps a redacted copy, or none."""

    name: str
    sha256: str
    bytes: int
    kept: KeptFile | None


@dataclass(frozen=True)
class ClaimCell:
    """A cell behind a metric: its values of it; no artifact where the workload stated them."""

    cell: str
    gpu: str | None
    values: list[float]
    artifact: ClaimArtifact | None


@dataclass(frozen=True)
class ClaimMetric:
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


@dataclass(frozen=True)
class Explained(Judged):
    """A claim with its verdict, its bound (``least``, ``most``) and the metrics it rests on."""

    least: float | None
    most: float | None
    problem: str
    subject: str
    run: str
    target: str
    metrics: list[ClaimMetric]


Files = Mapping[tuple[str, str], KeptFile]
"""By cell and artifact, the file that lies in a run or that a report keeps."""


def show(study: Problem, evidence: Folder, source: Run | Path, claim: str, *, json: bool) -> None:
    """Print a claim's verdict, the metrics that decide it, and the cells and files behind each.

    ``source`` is the run, or the folder of the report, that ``evidence`` is of. Raises UsageError
    if the problem has no such claim.
    """
    results, scope = judgement.judge(study, evidence)
    by_id = {result.claim.id: result for result in results}
    if claim not in by_id:
        remedy = nearest(claim, list(by_id))
        raise UsageError(f"no claim {claim!r}", where=study.folder.name, remedy=remedy)
    result = by_id[claim]
    metric_origins = origins(study, judgement.metrics(study, evidence), evidence.origin, result)
    files = _kept(source) if isinstance(source, Path) else _left(source, evidence)
    metrics = [_metric(each, files) for each in metric_origins]
    if json:
        least, most = (
            None if abs(end) == float("inf") else end for end in limits(result.claim.bound)
        )
        origin = evidence.origin.run
        document = Explained(
            **vars(judgement.judged(study, result, scope)),
            least=least,
            most=most,
            problem=study.folder.name,
            subject=evidence.label,
            run=origin.id,
            target=origin.target.name,
            metrics=metrics,
        )
        output.as_json(document)
        return
    judgement.tell(study, result)
    output.say(f"judged: {evidence.label}")
    for origin_of, metric in zip(metric_origins, metrics, strict=True):
        output.say()
        for line in _lines(origin_of, metric):
            output.say(line)
    output.say()
    for line in _tables(metrics):
        output.say(line)


def _kept(report: Path) -> Files:
    """Return the captures that a report keeps."""
    listed = capture_list.read(report / "evidence")
    return {
        (each.cell, each.artifact): KeptFile(
            str(report / "captures" / each.name) if each.in_git else None, each.sha256, each.bytes
        )
        for each in (listed.captures if listed else ())
    }


def _left(run: Run, evidence: Folder) -> Files:
    """Return the artifacts that a run's cells left, of the attempts that the evidence is from."""
    began = {cell.cell: cell.started for cell in evidence.origin.cells}
    return {
        (record.name, name): KeptFile(str(folder / name), artifact.sha256, artifact.bytes)
        for folder, record in run.records()
        if record.started == began.get(record.name)
        for name, artifact in record.artifacts.items()
    }


def _metric(each: MetricOrigin, files: Files) -> ClaimMetric:
    value, definition = each.measured, each.definition
    return ClaimMetric(
        metric=each.name,
        variant=each.variant,
        case=each.case,
        capture=definition.capture,
        source=f"{each.source} {getattr(definition, each.source)}",
        value=value.value,
        low=value.low,
        high=value.high,
        unit=value.unit,
        why=value.why,
        doubt=value.doubt,
        tables={name: RecordedFile(of.sha256, of.bytes) for name, of in each.tables.items()},
        cells=[
            ClaimCell(origin.cell.cell, origin.cell.gpu, [*origin.values], _artifact(origin, files))
            for origin in each.cells
        ],
    )


def _artifact(origin: CellOrigin, files: Files) -> ClaimArtifact | None:
    """Return the artifact as the cell left it, and the file that is still there of it."""
    if origin.artifact is None or origin.recorded is None:
        return None
    kept = files.get((origin.cell.cell, origin.artifact))
    recorded = origin.recorded
    return ClaimArtifact(origin.artifact, recorded.sha256, recorded.bytes, kept)


def _lines(origin: MetricOrigin, metric: ClaimMetric) -> Iterator[str]:
    """Yield the lines on a metric: its value, what it is read off, and each cell behind it."""
    value = origin.measured
    told = in_full(value) if value.value is not None else f"not measured: {value.why}"
    yield f"{metric.metric} of {metric.variant} in {metric.case}: {told}"
    yield f"  {metric.source} of the {metric.capture} capture"
    for cell in metric.cells:
        count, middle = len(cell.values), number(median(cell.values))
        values = middle if count == 1 else f"{count} values, median {middle}"
        yield f"  {cell.cell}: {values} {metric.unit}".rstrip()
        if cell.artifact is None:
            continue
        yield f"    {cell.artifact.name}, {size(cell.artifact.bytes)}"
        yield f"    sha256 {cell.artifact.sha256}"
        if kept := cell.artifact.kept:
            where = kept.file or "outside git (harness contribute --fetch SRC gets it)"
            yield f"    kept: {where}"
            yield f"    sha256 {kept.sha256}"


def _tables(metrics: list[ClaimMetric]) -> Iterator[str]:
    """Yield the lines on the tables that the metrics are read off, each table once."""
    tables = {name: table for metric in metrics for name, table in metric.tables.items()}
    for name, table in tables.items():
        yield f"evidence/{name}.parquet, {size(table.bytes)}"
        yield f"  sha256 {table.sha256}"
