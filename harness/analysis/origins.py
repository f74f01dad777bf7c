"""The origins of a claim: each metric that decides it, with cells, artifacts and their sha256."""

from dataclasses import dataclass

from harness.analysis.claims import ClaimResult
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.evidence.cell_record import Artifact
from harness.evidence.kinds import KINDS
from harness.evidence.provenance import CellProvenance, EvidenceProvenance
from harness.problem.model import Metric, Problem

Place = tuple[str, str, str]
"""Metric, variant and case."""

_TABLES = {"sample": ("samples",), "fact": ("facts",), "counter": ("counters",)}
"""The tables that a metric is read off, by its source; a measure may read any that its kind has."""


@dataclass(frozen=True)
class CellOrigin:
    """A cell behind a metric: the metric's values there, and the artifact that the kind reads.

    ``artifact`` is None of a kind that leaves no capture file: the workload stated the values.
    """

    cell: CellProvenance
    values: tuple[float, ...]
    artifact: str | None
    recorded: Artifact | None


@dataclass(frozen=True)
class MetricOrigin:
    """A metric of a variant in a case: its value, the tables it was read off, and its cells.

    ``source`` is the key of the manifest that names the values: sample, fact, measure or counter.
    """

    name: str
    variant: str
    case: str
    definition: Metric
    source: str
    measured: Measured
    tables: dict[str, Artifact]
    cells: tuple[CellOrigin, ...]


def origins(
    problem: Problem, metrics: Metrics, provenance: EvidenceProvenance, result: ClaimResult
) -> tuple[MetricOrigin, ...]:
    """Return each metric of a variant and case that decides a claim, once."""
    cells = {cell.cell: cell for cell in provenance.cells}
    metric_origins = []
    for place in dict.fromkeys(result.places):
        name, variant, case = place
        definition = problem.metric(name)
        source = _source(definition)
        measured, values = metrics.get(*place), metrics.samples(*place)
        kind = KINDS[definition.capture]
        metric_origins.append(
            MetricOrigin(
                name,
                variant,
                case,
                definition,
                source,
                measured,
                {
                    table: provenance.tables[table]
                    for table in _TABLES.get(source, kind.fills)
                    if table in provenance.tables
                },
                tuple(
                    CellOrigin(
                        cells[cell],
                        tuple(values.get(int(cell.rpartition(".r")[2]), ())),
                        kind.artifact,
                        cells[cell].artifacts.get(kind.artifact or ""),
                    )
                    for cell in measured.cells
                ),
            )
        )
    return tuple(metric_origins)


def _source(metric: Metric) -> str:
    return next(key for key in ("sample", "fact", "measure", "counter") if getattr(metric, key))
