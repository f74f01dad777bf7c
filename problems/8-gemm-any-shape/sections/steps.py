"""A figure of each step: what the gap was, or what the cure reaches."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.analysis.measured import Measured
from harness.report import bars
from harness.report.arguments import CaseName, MetricName, VariantName
from harness.report.chart import BLUE, FAINT, GAP, ORANGE, WIDTH, Rows, svg
from harness.report.escape import Markdown
from harness.report.numbers import number
from harness.report.page import Page
from harness.report.sections.regions import names

from .classes import draw_points

Place = tuple[VariantName, CaseName]
_SMS = 132
_EVEN = 100.0
_FEW_ROWS, _WEIGHT_BYTES = 64, 32 << 20
"""Most rows of A and fewest bytes of B of a pass over the weights, as regions.py groups them."""
_CHUNK = 8
"""Elements of 16 bytes, at multiples of which rows begin that TMA reads."""


def side_rates(
    page: Page, name: str, variant: VariantName, case: CaseName, caption: str
) -> Markdown:
    """Draw the rate of the choice and of the library's best candidate at each shape of a case."""
    rows: Rows = []
    for region in _problems(page, (variant, case)):
        rate, share = (
            page.metrics.get(f"{metric}@{region}", variant, case) for metric in ("tflops", "choice")
        )
        if rate.value and share.value:
            label = _sides(region)
            rows.append(_bar(f"{label}: choice", rate))
            theirs = Measured(rate.unit, 100 * rate.value / share.value)
            rows.append(_bar(f"{label}: library", theirs, baseline=True))
    figure = bars.draw(rows, [], "TFLOP/s") if rows else None
    return page.figure(name, "rate of the choice and of the library, by shape", figure, caption)


def ratio_bars(
    page: Page,
    name: str,
    metrics: Mapping[MetricName, str],
    places: Mapping[str, Place],
    only: Sequence[str],
    titles: tuple[str, str],
    caption: str,
) -> Markdown:
    """Draw metrics in % at some problems of some cases, with a line at 100 %.

    ``metrics``: what a bar's label calls each; ``places``: what it calls each case. ``titles``: of
    the axis, and of the line.
    """
    rows: Rows = []
    for case, place in places.items():
        for region in _problems(page, place):
            for metric, label in metrics.items():
                value = page.metrics.get(f"{metric}@{region}", *place)
                if value.value is not None and (not only or region in only):
                    words = (_sides(region), case, label)
                    rows.append(_bar(", ".join(filter(None, words)), value))
    line = {"value": _EVEN, "shown": titles[1], "baseline": False}
    figure = bars.draw(rows, [line], titles[0]) if rows else None
    return page.figure(name, f"{titles[0]}, by shape", figure, caption)


def step_parts(
    page: Page,
    name: str,
    tiles: Mapping[str, str],
    variant: VariantName,
    case: CaseName,
    caption: str,
) -> Markdown:
    """Draw the cycles of a step of K of some tiles: whole, its loads, its products."""
    parts = {"whole": "whole step", "loads": "loads alone", "products": "products alone"}
    rows = [
        _bar(f"{label}: {words}", value, baseline=part == "whole")
        for tile, label in tiles.items()
        for part, words in parts.items()
        for value in [page.metrics.get(f"{part}_cycles@{tile}", variant, case)]
        if value.value is not None
    ]
    figure = bars.draw(rows, [], "cycles") if rows else None
    return page.figure(name, "cycles of a step of K, whole and in parts", figure, caption)


def few_rows_copies(
    page: Page, name: str, variant: VariantName, case: CaseName, caption: str
) -> Markdown:
    """Draw a point per product of few rows: a copy's time over the choice's, over rows of A."""
    rows: Rows = []
    for region in _problems(page, (variant, case)):
        (m, n, k), layout = _shape(region)
        share = page.metrics.get(f"of_copy@{region}", variant, case).value
        if share and m <= _FEW_ROWS and 2 * n * k >= _WEIGHT_BYTES:
            shifted = (k if layout[1] == "t" else n) % _CHUNK
            kind = "weights shifted by threads" if shifted else "weights read by TMA"
            rows.append({"kind": kind, "x": m, "y": share})
    titles = ("rows of A", "copy's time, % of the choice's")
    figure = draw_points(rows, titles, _EVEN, "a copy of as many bytes") if rows else None
    return page.figure(name, "a copy's time over the choice's, by rows of A", figure, caption)


def tiles_on_sms(page: Page, name: str, side: int, caption: str) -> Markdown:
    """Draw the tensor work of each SM at a square of ``side`` under three plans, by arithmetic."""
    plans = (
        ("one tile of 128 × 256 per SM", 128, 256, False),
        ("one tile of 128 × 160 per SM", 128, 160, False),
        ("128 × 256, K spread over all SMs", 128, 256, True),
    )
    rows = [row for at, plan in enumerate(plans) for row in _worked(side, at, *plan)]
    return page.figure(name, "tensor work of each SM under three plans", _tiles(rows), caption)


def _worked(side: int, at: int, label: str, down: int, across: int, spread: bool) -> Rows:
    """Return what busy and idle SMs do under a plan, in work of a tile of 128 × 256."""
    tiles = math.ceil(side / down) * math.ceil(side / across)
    work = down * across / (128 * 256)
    busy = _SMS if spread else tiles
    each = work * tiles / busy
    told = f"{tiles} tiles, {_SMS - busy} of {_SMS} SMs idle, time {number(each, 2)}"
    return [{"plan": label, "at": at, "x": 0, "x2": busy, "y": each, "told": f"{label}: {told}"}]


def _tiles(rows: Rows) -> str:
    """Return one panel per plan as SVG: SMs across, time upward."""
    import altair as alt

    x_scale, y_scale = alt.Scale(domain=[0, _SMS], nice=False), alt.Scale(domain=[0, 1.0])
    panels = []
    for row in rows:
        base = alt.Chart(alt.Data(values=[row | {"bottom": 0}]))
        last = row is rows[-1]
        x = alt.X(
            "x:Q", scale=x_scale, title="SM" if last else None, axis=alt.Axis(values=[0, 66, _SMS])
        )
        y = alt.Y("bottom:Q", scale=y_scale, title="time", axis=alt.Axis(values=[0, 0.5, 1]))
        box = base.mark_rect(color=ORANGE if row["x2"] < _SMS else BLUE, opacity=0.8)
        title = alt.TitleParams(row["told"], anchor="start", fontWeight="normal", color=FAINT)
        panel = box.encode(x=x, x2="x2:Q", y=y, y2="y:Q")
        panels.append(panel.properties(width=WIDTH, height=60, title=title))
    return svg(alt.vconcat(*panels, spacing=GAP))


def _problems(page: Page, place: Place) -> list[str]:
    return [region for region in names(page.metrics, place) if ":" in region]


def _shape(region: str) -> tuple[tuple[int, int, int], str]:
    sizes, _, layout = region.partition(":")
    m, n, k = map(int, sizes.split("x"))
    return (m, n, k), layout


def _sides(region: str) -> str:
    """Return "4096³" of a square, else "M × N × K"."""
    shape, _ = _shape(region)
    return f"{shape[0]}³" if len(set(shape)) == 1 else " × ".join(map(str, shape))


def _bar(label: str, value: Measured, *, baseline: bool = False) -> dict[str, Any]:
    middle = value.value or 0.0
    return {
        "label": label,
        "value": middle,
        "low": middle if value.low is None else value.low,
        "high": middle if value.high is None else value.high,
        "shown": number(middle),
        "baseline": baseline,
    }
