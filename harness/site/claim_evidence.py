"""What a claim rests on: samples, definitions, cells, and the sha256 of tables and captures."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from statistics import median
from typing import TYPE_CHECKING

from harness.analysis.claims import ClaimResult
from harness.analysis.measured import Measured
from harness.analysis.verdict import Ends, limits
from harness.captures.registry import KINDS
from harness.evidence import capture_list
from harness.problem.claim_checks import complete
from harness.problem.model import Advice, Metric
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
_TABLES = {"sample": ("samples",), "fact": ("facts",), "counter": ("counters",)}
"""The tables that such a metric is read off; a measure may read any that its kind fills."""
_NO_BOUND: Ends = (float("-inf"), float("inf"))

Place = tuple[str, str, str]
"""Metric, variant and case."""


@dataclass(frozen=True)
class Cell:
    """One cell behind a metric: what it left, with sha256, and the kept copy, if one lies here."""

    name: str
    values: str
    gpu: str
    artifact: str
    sha256: str
    bytes: str
    kept: str


@dataclass(frozen=True)
class Side:
    """One metric of a variant in a case, from its definition back to its cells."""

    title: str
    said: "Markup"
    value: str
    strip: str
    tables: tuple[tuple[str, str], ...]
    cells: tuple[Cell, ...]


class Evidence:
    """What the claims of one report rest on."""

    def __init__(self, study: Page) -> None:
        self._study = study
        self._cells = {cell.cell: cell for cell in study.provenance.cells}

    def sides(self, result: ClaimResult) -> tuple[Side, ...]:
        """Return each metric of a variant and case that decides a claim, once.

        Where it is the only one, its strip shows the claim's bound.
        """
        places = list(dict.fromkeys(_places(result)))
        bound = limits(result.claim.bound) if len(places) == 1 else _NO_BOUND
        return tuple(self._side(place, bound) for place in places)

    def _side(self, place: Place, bound: Ends) -> Side:
        name, variant, case = place
        problem = self._study.problem
        metric = problem.metric(name)
        value = self._study.metrics.get(*place)
        values = self._study.metrics.samples(*place)
        rows = strips.by_process(values) if metric.sample else []
        return Side(
            title=f"{metric.label}: {problem.variants[variant].label}, {problem.cases[case].label}",
            said=_said(name, metric),
            value=shown(value),
            strip=strips.svg(rows, value.unit, [("median", value)], bound),
            tables=tuple(self._tables(metric)),
            cells=tuple(self._cell(cell, metric, values) for cell in value.cells),
        )

    def _tables(self, metric: Metric) -> Iterator[tuple[str, str]]:
        """Yield the tables that a metric is read off, each with the sha256 of its file."""
        source = next(key for key in _SAID_BY if getattr(metric, key))
        for name in _TABLES.get(source, KINDS[metric.capture].fills):
            known = self._study.provenance.tables.get(name)
            if known:
                yield f"evidence/{name}.parquet", known.sha256

    def _cell(self, name: str, metric: Metric, values: Mapping[int, Sequence[float]]) -> Cell:
        known = self._cells[name]
        artifact = KINDS[metric.capture].artifact
        left = known.artifacts.get(artifact) if artifact else None
        of_round = values.get(int(name.rpartition(".r")[2]), [])
        return Cell(
            name=name,
            values=_told(of_round, metric.unit),
            gpu=known.gpu or "CPU",
            artifact=artifact if left and artifact else "",
            sha256=left.sha256 if left else "",
            bytes=size(left.bytes) if left else "",
            kept=self._kept.get((name, artifact), "") if artifact else "",
        )

    @cached_property
    def _kept(self) -> dict[tuple[str, str], str]:
        """The kept copy of each cell's artifact, of those that lie in the report."""
        listed = capture_list.read(self._study.folder / "evidence")
        kept = listed.captures if listed else ()
        return {(each.cell, each.artifact): each.name for each in kept if each.in_git}


def _places(result: ClaimResult) -> Iterator[Place]:
    """Yield each metric of a variant and case that a claim is decided by."""
    claim = result.claim
    if isinstance(claim, Advice):
        for gain in result.gains:
            for variant in filter(None, (claim.take, claim.instead_of, gain.rival)):
                yield claim.metric, variant, gain.case
        return
    for selection in filter(None, (claim.of, claim.over)):
        variant, case, metric = complete(claim, selection)
        yield metric, variant, case


def _said(name: str, metric: Metric) -> "Markup":
    """Return a metric's definition in a sentence, with names between backticks."""
    source = next(key for key in _SAID_BY if getattr(metric, key))
    said = _SAID_BY[source].format(f"`{getattr(metric, source)}`")
    parts = [f"`{name}` is {said}", f"of the `{metric.capture}` capture"]
    parts += [f"in the region `{metric.region}`"] if metric.region else []
    parts += [f"divided by `{metric.per}`"] if metric.per else []
    return prose_html(" ".join(parts) + ".")


def shown(value: Measured) -> str:
    """Return a value with its 95 % interval as plain text, or why it has none."""
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
