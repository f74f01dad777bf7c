"""A case that measures the same thing at many sizes, each in a region of its own such as "m16"."""

import re
from textwrap import wrap
from typing import Any

from harness.analysis import roofline
from harness.analysis.measured import Measured
from harness.analysis.metrics import Metrics
from harness.evidence.tables import Tables
from harness.report.axes import DecadeAxis
from harness.report.chart import FONT, GAP, HEIGHT, SERIES, Rows, svg
from harness.report.columns import NOT_MEASURED
from harness.report.escape import Markdown, table
from harness.report.labels import apart
from harness.report.numbers import number
from harness.report.page import Page, not_measured

_SIZE = re.compile(r"[A-Za-z]+(\d+)")
_PLOT = 390
"""Pixels of the plotting area; right of it stand the names of its lines."""
_NAME_CHARACTERS = 26
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
        {
            "series": page.problem.variants[variant].label,
            "size": _number(region),
            "value": scale * value,
        }
        for variant in variants
        for region in regions
        if (value := page.metrics.get(f"{metric}@{region}", variant, case).value) is not None
    ]
    if not rows:
        return None
    return draw(rows, f"{definition.label}, {unit}", regions[0].rstrip("0123456789").upper())


def draw(rows: Rows, title: str, size_title: str) -> str:
    """Return a line a series over sizes as SVG, both axes logarithmic, each named at its end.

    Rows: series, size, value.
    """
    import altair as alt

    names = list(dict.fromkeys(row["series"] for row in rows))
    across = DecadeAxis([row["size"] for row in rows], _PLOT)
    upward = DecadeAxis([row["value"] for row in rows], HEIGHT)
    colours = alt.Color("series:N", legend=None, scale=alt.Scale(domain=names, range=list(SERIES)))
    x = alt.X("size:Q", title=size_title, scale=across.scale(), axis=across.powers_of_two())
    y = alt.Y("value:Q", title=f"{title}, log scale", scale=upward.scale(), axis=upward.steps())
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, color=colours)
    layered = base.mark_line(strokeWidth=2) + base.mark_point(filled=True, size=30, opacity=1)
    named = alt.Chart(alt.Data(values=_named(rows, names, upward))).encode(color=colours)
    leader = named.mark_rule().encode(
        x=alt.value(_PLOT), x2=alt.value(_PLOT + 2 * GAP), y="value:Q", y2="at:Q"
    )
    text = named.mark_text(align="left", baseline="middle", dy={"expr": "datum.dy"}).encode(
        x=alt.value(_PLOT + 3 * GAP), y=alt.Y("at:Q", scale=upward.scale()), text="line:N"
    )
    return svg((layered + leader + text).properties(width=_PLOT, height=HEIGHT))


def _named(rows: Rows, names: list[str], upward: DecadeAxis) -> Rows:
    """Return the lines of each series' name, as high as its last value where there is room."""
    last = [max((row for row in rows if row["series"] == name), key=_size_of) for name in names]
    lines = {name: wrap(name, _NAME_CHARACTERS) for name in names}
    line_height = FONT + 2
    step = line_height * max(map(len, lines.values())) + 4
    tops = apart([HEIGHT - upward.pixel(row["value"]) for row in last], HEIGHT, step)
    return [
        {
            "series": name,
            "value": row["value"],
            "at": upward.value(HEIGHT - top),
            "line": line,
            "dy": line_height * (place - (len(lines[name]) - 1) / 2),
        }
        for name, row, top in zip(names, last, tops, strict=True)
        for place, line in enumerate(lines[name])
    ]


def _size_of(row: dict[str, Any]) -> float:
    return float(row["size"])


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
