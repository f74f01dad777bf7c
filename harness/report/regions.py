"""A cell that measures several things in turn: a row a region instead of a row a variant."""

from collections.abc import Sequence

from harness.analysis import peaks
from harness.analysis.metrics import Metrics
from harness.problem import Problem
from harness.report import figures, plots
from harness.report.numbers import measured

_NONE = "–"


def names(metrics: Metrics, variant: str, case: str) -> list[str]:
    """Return the regions of a variant's timing cell, in the order in which it states them."""
    tables = metrics.capture_of("timing", variant, case)
    return (
        [] if tables is None else tables["samples"]["region"].unique(maintain_order=True).to_list()
    )


def label(problem: Problem, region: str) -> str:
    """Return how a region is called: as the variant of that name, if there is one."""
    known = problem.variants.get(region)
    return known.label if known else region


def rows(
    problem: Problem,
    metrics: Metrics,
    place: tuple[str, str],
    columns: Sequence[str],
    facts: Sequence[str] = (),
    only: Sequence[str] = (),
) -> list[list[str]]:
    """Return a row a region of ``place``, a variant and a case: its metrics, then facts as text.

    A column METRIC@REGION is of that region in every row. ``only``: the regions that are shown.
    """
    found = []
    for region in names(metrics, *place):
        if only and region not in only:
            continue
        wanted = [name if "@" in name else f"{name}@{region}" for name in columns]
        values = [metrics.get(name, *place) for name in wanted]
        cells = [_NONE if value.value is None else measured(value) for value in values]
        texts = [metrics.text(f"{fact}.{region}", *place) or _NONE for fact in facts]
        found.append([label(problem, region), *cells, *texts])
    return found


def shares(
    metrics: Metrics, place: tuple[str, str], gpu: str, rate: str, kind: str, only: Sequence[str]
) -> list[str]:
    """Return each region's share of the datasheet's peak of ``kind``, by its metric ``rate``."""
    sheet = peaks.of(gpu)
    peak = sheet.rate(kind) if sheet else None
    found = []
    for region in names(metrics, *place):
        if only and region not in only:
            continue
        value = metrics.get(f"{rate}@{region}", *place).value
        found.append(f"{100 * value / peak:.1f} %" if value and peak else _NONE)
    return found


def bars(
    problem: Problem, metrics: Metrics, metric: str, place: tuple[str, str], only: Sequence[str]
) -> str | None:
    """Return the figure of a metric over regions, None where none was measured."""
    drawn = []
    for region in names(metrics, *place):
        found = metrics.get(f"{metric}@{region}", *place)
        if found.value is None or (only and region not in only):
            continue
        drawn.append(
            {
                "label": label(problem, region),
                "value": found.value,
                "low": found.low,
                "high": found.high,
                "samples": figures.ticks(metrics.samples(f"{metric}@{region}", *place)),
                "shown": measured(found, interval=False),
                "baseline": region == problem.baseline,
            }
        )
    return plots.bars(drawn, problem.metric(metric).label) if drawn else None
