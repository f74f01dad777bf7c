"""A cell that measures several things in turn: a row a region instead of a row a variant."""

from collections.abc import Sequence

from harness.analysis import datasheets
from harness.analysis.metrics import Metrics
from harness.evidence import kinds
from harness.problem.model import Problem
from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.bars import Bar, draw_bars
from harness.report.escape import Markdown, table
from harness.report.numbers import in_cell
from harness.report.page import Page, not_measured
from harness.report.verdicts import region_label

_NONE = "–"

Place = tuple[VariantName, CaseName]
"""A variant and a case."""


def regions(
    page: Page,
    variant: VariantName,
    case: CaseName,
    metrics: Sequence[MetricName],
    facts: Sequence[str] = (),
    only: Sequence[str] = (),
    peak: tuple[MetricName, str] | None = None,
    lowest: int | None = None,
) -> Markdown:
    """Return the table of a cell: a row a region; metrics, then facts, then a share of a peak.

    A column METRIC@REGION shows that region in every row. ``facts`` are shown as the text that the
    cell stated for the region, ``only`` leaves other regions out, and ``peak`` is a rate and the
    kind of arithmetic whose peak on the target's datasheet it is divided by. ``lowest``: only as
    many regions that state the first of ``facts``, those of the lowest first metric, in that order.
    """
    place = (variant, case)
    head = ["", *(_title(page.problem, name) for name in metrics), *facts]
    head += ["of the datasheet's peak"] if peak else []
    rows = []
    if lowest is None:
        shown = names(page.metrics, place, only)
    else:
        shown = _lowest(page, place, only, metrics[0], facts[0])[:lowest]
    for region in shown:
        columns = [name if "@" in name else f"{name}@{region}" for name in metrics]
        values = [page.metrics.get(name, *place) for name in columns]
        cells: list[str] = [_NONE if value.value is None else in_cell(value) for value in values]
        cells += [page.metrics.text(f"{fact}.{region}", *place) or _NONE for fact in facts]
        cells += [_share(page, place, region, *peak)] if peak else []
        rows.append([region_label(page.problem, region), *cells])
    return table(head, rows) if rows else not_measured(case)


def region_bars(
    page: Page,
    name: str,
    metric: MetricName,
    place: Place,
    caption: str,
    only: Sequence[str],
    ceiling: str = "",
) -> Markdown:
    """Draw a metric of a cell's regions, the baseline's value as a line.

    ``ceiling``: the measured rate to draw as a line, such as "bf16", in the metric's unit.
    """
    problem = page.problem
    entries = [
        Bar(region_label(problem, region), f"{metric}@{region}", *place, region == problem.baseline)
        for region in names(page.metrics, place, only)
    ]
    alt = f"{problem.metric(metric).label}, {place[1]}"
    return page.figure(name, alt, draw_bars(page, metric, entries, ceiling), caption)


def names(metrics: Metrics, place: Place, only: Sequence[str] = ()) -> list[str]:
    """Return the regions of a timing cell: all in the order in which it ran them, or ``only``."""
    tables = metrics.capture_of(kinds.unprofiled(), *place)
    if tables is None:
        return []
    every = tables["samples"]["region"].unique(maintain_order=True)
    return [region for region in only if region in every] if only else every.to_list()


def stated(page: Page, place: Place, fact: str, only: Sequence[str] = ()) -> dict[str, str]:
    """Return the text of a fact by region, of the regions that state it, in the order of names."""
    texts = {
        region: page.metrics.text(f"{fact}.{region}", *place)
        for region in names(page.metrics, place, only)
    }
    return {region: text for region, text in texts.items() if text}


def _lowest(page: Page, place: Place, only: Sequence[str], metric: str, fact: str) -> list[str]:
    """Return the regions that state the fact, the lowest value of the metric first."""
    values = {
        region: page.metrics.get(f"{metric}@{region}", *place).value
        for region in stated(page, place, fact, only)
    }
    measured = {region: value for region, value in values.items() if value is not None}
    return sorted(measured, key=lambda region: measured[region])


def _title(problem: Problem, column: str) -> str:
    name, _, region = column.partition("@")
    label = problem.metric(name).label
    return f"{label}, {region_label(problem, region)}" if region else label


def _share(page: Page, place: Place, region: str, rate: str, kind: str) -> str:
    sheet = datasheets.of(page.target.name)
    value = page.metrics.get(f"{rate}@{region}", *place).value
    peak = sheet.rate(kind) if sheet else None
    return f"{100 * value / peak:.1f} %" if value and peak else _NONE
