"""A cell that measures several things in turn: a row a region instead of a row a variant."""

from collections.abc import Sequence

from harness.analysis import datasheets
from harness.analysis.metrics import Metrics
from harness.captures.registry import unprofiled
from harness.problem.model import Problem
from harness.report import figures
from harness.report.numbers import measured

_NONE = "–"

Place = tuple[str, str]
"""A variant and a case."""


def names(metrics: Metrics, place: Place, only: Sequence[str] = ()) -> list[str]:
    """Return the regions of a timing cell, or those of ``only``, in the order of its statements."""
    tables = metrics.capture_of(unprofiled(), *place)
    if tables is None:
        return []
    found = tables["samples"]["region"].unique(maintain_order=True)
    return [region for region in found if not only or region in only]


def label(problem: Problem, region: str) -> str:
    """Return how a region is called: as the variant of that name, if there is one."""
    known = problem.variants.get(region)
    return known.label if known else region


def table_of(
    problem: Problem,
    metrics: Metrics,
    gpu: str,
    place: Place,
    columns: Sequence[str],
    facts: Sequence[str] = (),
    only: Sequence[str] = (),
    peak: tuple[str, str] | None = None,
) -> tuple[list[str], list[list[str]]]:
    """Return head and rows: of each region its metrics, then facts as text, then a share of a peak.

    A column METRIC@REGION is of that region in every row. ``peak``: a rate, and the kind of
    arithmetic on the datasheet of ``gpu`` that it is held against.
    """
    head = ["", *(_titled(problem, name) for name in columns), *facts]
    head += ["of the datasheet's peak"] if peak else []
    rows = []
    for region in names(metrics, place, only):
        wanted = [name if "@" in name else f"{name}@{region}" for name in columns]
        values = [metrics.get(name, *place) for name in wanted]
        cells: list[str] = [_NONE if value.value is None else measured(value) for value in values]
        cells += [metrics.text(f"{fact}.{region}", *place) or _NONE for fact in facts]
        cells += [_share(metrics, place, region, gpu, *peak)] if peak else []
        rows.append([label(problem, region), *cells])
    return head, rows


def bars(
    problem: Problem, metrics: Metrics, metric: str, place: Place, only: Sequence[str]
) -> str | None:
    """Return the figure of a metric over regions, None where none was measured."""
    of = [
        (label(problem, region), (f"{metric}@{region}", *place), region == problem.baseline)
        for region in names(metrics, place, only)
    ]
    return figures.bars_of(problem, metrics, metric, of)


def _titled(problem: Problem, column: str) -> str:
    name, _, region = column.partition("@")
    said = problem.metric(name).label
    return f"{said}, {label(problem, region)}" if region else said


def _share(metrics: Metrics, place: Place, region: str, gpu: str, rate: str, kind: str) -> str:
    sheet, value = datasheets.of(gpu), metrics.get(f"{rate}@{region}", *place).value
    most = sheet.rate(kind) if sheet else None
    return f"{100 * value / most:.1f} %" if value and most else _NONE
