"""What a claim rests on: samples, definitions, cells, and the sha256 of tables and captures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from statistics import median
from typing import TYPE_CHECKING

from harness.analysis.claims import ClaimResult
from harness.analysis.measured import Measured
from harness.analysis.origins import CellOrigin, MetricOrigin, origins
from harness.analysis.verdict import Ends, limits
from harness.evidence import capture_list
from harness.problem.model import Metric
from harness.report.numbers import in_full, measured, number, scaled, size
from harness.report.page import Page
from harness.site import strips

if TYPE_CHECKING:
    from markupsafe import Markup

_SAID_BY = {
    "sample": "the median of the samples {}",
    "fact": "the fact {}, stated by the workload",
    "measure": "the measure {}",
    "counter": "the counter {} of the step's longest kernel",
}
"""What a metric is read off, by the key of the manifest that says so."""
_NO_BOUND: Ends = (float("-inf"), float("inf"))


@dataclass(frozen=True)
class CellEvidence:
    """One cell behind a metric: what it left, with sha256, and the kept copy, if one lies here."""

    name: str
    values: str
    gpu: str
    artifact: str
    sha256: str
    bytes: str
    kept: str


@dataclass(frozen=True)
class MetricEvidence:
    """One metric of a variant in a case, from its definition back to its cells."""

    title: str
    said: "Markup"
    value: str
    strip: str
    tables: tuple[tuple[str, str], ...]
    cells: tuple[CellEvidence, ...]


class ClaimEvidence:
    """What the claims of one report rest on."""

    def __init__(self, study: Page) -> None:
        self._study = study

    def sides(self, result: ClaimResult) -> tuple[MetricEvidence, ...]:
        """Return each metric of a variant and case that decides a claim, once.

        Where it is the only one, its strip shows the claim's bound.
        """
        study = self._study
        metrics = origins(study.problem, study.metrics, study.provenance, result)
        bound = limits(result.claim.bound) if len(metrics) == 1 else _NO_BOUND
        return tuple(self._side(origin, bound) for origin in metrics)

    def _side(self, origin: MetricOrigin, bound: Ends) -> MetricEvidence:
        problem, metric, value = self._study.problem, origin.definition, origin.measured
        variant, case = problem.variants[origin.variant], problem.cases[origin.case]
        values = self._study.metrics.samples(origin.name, origin.variant, origin.case)
        rows = strips.by_process(values) if metric.sample else []
        return MetricEvidence(
            title=f"{metric.label}: {variant.label}, {case.label}",
            said=_said(origin),
            value=shown(value),
            strip=strips.svg(rows, value.unit, [("median", value)], bound),
            tables=tuple(
                (f"evidence/{name}.parquet", table.sha256) for name, table in origin.tables.items()
            ),
            cells=tuple(self._cell(cell, metric) for cell in origin.cells),
        )

    def _cell(self, origin: CellOrigin, metric: Metric) -> CellEvidence:
        cell, artifact, left = origin.cell, origin.artifact, origin.recorded
        return CellEvidence(
            name=cell.cell,
            values=_told(origin.values, metric.unit),
            gpu=cell.gpu or "CPU",
            artifact=artifact if left and artifact else "",
            sha256=left.sha256 if left else "",
            bytes=size(left.bytes) if left else "",
            kept=self._kept.get((cell.cell, artifact), "") if artifact else "",
        )

    @cached_property
    def _kept(self) -> dict[tuple[str, str], str]:
        """The kept copy of each cell's artifact, of those that lie in the report."""
        listed = capture_list.read(self._study.folder / "evidence")
        kept = listed.captures if listed else ()
        return {(each.cell, each.artifact): each.name for each in kept if each.in_git}


def _said(origin: MetricOrigin) -> "Markup":
    """Return a metric's definition in a sentence, with names between backticks."""
    metric = origin.definition
    said = _SAID_BY[origin.source].format(f"`{getattr(metric, origin.source)}`")
    parts = [f"`{origin.name}` is {said}", f"of the `{metric.capture}` capture"]
    parts += [f"in the region `{metric.region}`"] if metric.region else []
    parts += [f"divided by `{metric.per}`"] if metric.per else []
    if metric.members and metric.region:
        parts.append(f"or the mean over the regions whose `{metric.members}` is that")
    return prose_html(" ".join(parts) + ".")


def shown(value: Measured) -> str:
    """Return a value with its 99 % interval as plain text, or why it has none."""
    if value.value is None:
        return f"not measured: {value.why}"
    return _plain(in_full(value) if value.low != value.high else measured(value))


def _plain(text: str) -> str:
    """Return Markdown of a number as text: its entities are characters again."""
    return re.sub(r"&#(\d+);", lambda match: chr(int(match[1])), text)


def _told(values: Sequence[float], unit: str) -> str:
    """Return how many values a cell has, and their median; a single one as it is."""
    if not values:
        return "none"
    middle = median(values)
    factor, shown_unit = scaled(middle, unit)
    told = f"{number(middle / factor)} {shown_unit}".strip()
    return told if len(values) == 1 else f"{len(values)}, median {told}"


def prose_html(text: str) -> "Markup":
    """Return a manifest's sentence as HTML: code between backticks, all else as text."""
    from markupsafe import Markup

    pieces = re.split(r"`([^`]+)`", " ".join(text.split()))
    return Markup(  # noqa: S704 - every piece is escaped
        "".join(
            f"<code>{escape(piece)}</code>" if place % 2 else escape(piece)
            for place, piece in enumerate(pieces)
        )
    )
