"""A case that measures the same thing at many sizes, each in a region of its own such as "m16"."""

import re

from harness.analysis import roofline
from harness.analysis.metrics import Measured, Metrics
from harness.evidence.tables import Tables
from harness.report.chart import HEIGHT, WIDTH, Rows, svg
from harness.report.columns import NOT_MEASURED
from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

_SIZE = re.compile(r"[A-Za-z]+(\d+)")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def sweep(
    page: Page, name: str, metric: str, case: str, variants: list[str], caption: str
) -> Markdown:
    """Draw a metric over the sizes of a case, a line a variant."""
    figure = draw_sweep(page, metric, case, variants)
    return page.figure(name, f"{page.problem.metrics[metric].label} by size", figure, caption)


def sweep_table(
    page: Page, metric: str, case: str, variants: list[str], facts: list[str]
) -> Markdown:
    """Return the table of a metric by size, then ``facts`` that the last variant stated."""
    rows = table_rows(page.metrics, metric, case, variants, facts)
    unit = _shown_unit(page.problem.metrics[metric].unit)[1]
    head = ["size", *(f"{variant}, {unit}" for variant in variants), *facts]
    return table(head, rows) if rows else not_measured(case)


def shares(page: Page, case: str, variants: list[str], **how: str) -> Markdown:
    """Return the share of what memory or arithmetic allow that each variant reaches, by size.

    ``how``: the metrics ``time`` (ms), ``bytes`` and ``flop`` of a step, and the ``kind`` of
    arithmetic whose measured rate is the ceiling, such as "bf16".
    """
    rows = share_rows(page.metrics, page.tables, case, variants, how)
    return table(["size", *variants], rows) if rows else not_measured(case)


def sizes(metrics: Metrics, case: str) -> list[str]:
    """Return the regions of a case whose names are letters and a size, by size."""
    return sorted((name for name in metrics.regions(case) if _SIZE.fullmatch(name)), key=_number)


def draw_sweep(page: Page, metric: str, case: str, variants: list[str]) -> str | None:
    """Return the figure of a metric over sizes as SVG, None where none was measured."""
    definition = page.problem.metrics[metric]
    scale, unit = _shown_unit(definition.unit)
    regions = sizes(page.metrics, case)
    rows = [
        {"variant": variant, "size": _number(region), "value": scale * value}
        for variant in variants
        for region in regions
        if (value := page.metrics.get(f"{metric}@{region}", variant, case).value) is not None
    ]
    if not rows:
        return None
    return draw(rows, f"{definition.label}, {unit}", regions[0].rstrip("0123456789").upper())


def draw(rows: Rows, title: str, size_title: str) -> str:
    """Return a line a variant over sizes as SVG, both axes logarithmic.

    Rows: variant, size, value.
    """
    import altair as alt

    order = list(dict.fromkeys(row["variant"] for row in rows))
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("size:Q", title=size_title, scale=alt.Scale(type="log", base=2, nice=False)),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(type="log", nice=False)),
        color=alt.Color("variant:N", title=None, sort=order, scale=alt.Scale(scheme="tableau10")),
    )
    layered = base.mark_line(strokeWidth=1.5) + base.mark_point(filled=True, size=30, opacity=1)
    return svg(layered.properties(width=WIDTH, height=HEIGHT))


def table_rows(
    metrics: Metrics, metric: str, case: str, variants: list[str], facts: list[str]
) -> list[list[str]]:
    """Return a row a size: the metric of each variant, then facts of the last one as text."""
    rows = []
    for region in sizes(metrics, case):
        values = [metrics.get(f"{metric}@{region}", variant, case) for variant in variants]
        texts = [metrics.text(f"{fact}.{region}", variants[-1], case) for fact in facts]
        cells = [_cell(value) for value in values]
        rows.append([str(_number(region)), *cells, *(text or "–" for text in texts)])
    return rows


def share_rows(
    metrics: Metrics, tables: Tables, case: str, variants: list[str], how: dict[str, str]
) -> list[list[str]]:
    """Return a row a size: each variant's share of what memory or arithmetic allow at most.

    ``how`` is that of :func:`shares`. A ceiling is the best that any GPU of the run reached.
    """
    roof = next(iter(roofline.roofs(roofline.best(tables), None, how["kind"])), None)
    rows = []
    for region in sizes(metrics, case):
        cells = []
        for variant in variants:
            time_ms, moved_bytes, flop = (
                metrics.get(f"{how[key]}@{region}", variant, case).value
                for key in ("time", "bytes", "flop")
            )
            cells.append(_share(time_ms, moved_bytes, flop, roof))
        rows.append([str(_number(region)), *cells])
    return rows


def _share(
    time_ms: float | None,
    moved_bytes: float | None,
    flop: float | None,
    roof: roofline.Roof | None,
) -> str:
    if not roof or not time_ms or not moved_bytes or not flop:
        return "–"
    least_ms, limit = roof.least_time(moved_bytes, flop)
    return f"{100 * least_ms / time_ms:.0f} % of {limit}"


def _shown_unit(unit: str) -> tuple[float, str]:
    """Return the factor and the unit in which a sweep shows a metric: µs instead of ms."""
    return (1e3, "µs") if unit == "ms" else (1.0, unit)


def _number(region: str) -> int:
    return int(region.lstrip(_LETTERS))


def _cell(value: Measured) -> str:
    if value.value is None:
        return NOT_MEASURED
    return number(_shown_unit(value.unit)[0] * value.value)
