"""A map of the ways that are predicted to be the fastest, and how far its predictions are off."""

import json
from dataclasses import replace
from typing import Any

from harness.analysis import roofline
from harness.report import chart
from harness.report.arguments import CaseName, VariantName
from harness.report.escape import Markdown, code, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

from .forecast import TIE, Forecast, Point, leading
from .inputs import Inputs

_TOKENS = [2**power for power in range(9, 17)]
_SEQUENCES = [2**power for power in range(9)]
_WAYS = {
    "whole": ("O", chart.FAINT),
    "tensor": ("T", chart.SERIES[5]),
    "tensor-symmetric": ("M", chart.BLUE),
    "sequence": ("S", chart.SERIES[6]),
    "sequence-async": ("A", chart.SERIES[3]),
    "ring": ("R", chart.GREEN),
    "ulysses": ("U", chart.ORANGE),
}
"""Each way's letter and colour."""
_LABELS = {way: f"{letter}: {way}" for way, (letter, _) in _WAYS.items()}
_ROW, _BREAK, _INSET = 40, 0.25, 0.03
"""Pixels of a row; in cells, the gap after decodes and that around a cell."""
_WHAT = "map of the ways that are predicted to be the fastest"


def ways_map(page: Page, name: str, variant: VariantName, case: CaseName) -> Markdown:
    """Draw which way is predicted to be the fastest by tokens and sequences, and the measured."""
    inputs = Inputs(page, variant, case)
    forecast = inputs.forecast()
    if forecast is None:
        return not_measured(_WHAT)
    context = max(at.context for at in inputs.points.values())
    cells = _cells(forecast, context)
    won = {
        at: [way for way in leading(inputs.steps(work)) if way in _WAYS]
        for work, at in inputs.points.items()
    }
    nowhere = _WAYS.keys() - {way for *_, ways in cells for way in ways}
    caption = (
        f"Letter and colour: the way predicted to be the fastest, of {forecast.of.layers} layers. "
        f"A striped cell is a tie: these predictions lie within {TIE:.0%} of the least. "
        f"Circles: the way measured fastest, and those within {TIE:.0%} of it. "
        f"A decode computes one token of each sequence, with {context} in its cache. "
        "Left out: a way that would hold more than a GPU has, by the tokens of the prefill. "
        f"Nowhere predicted the fastest: {', '.join(sorted(nowhere)) or 'none'}."
    )
    return page.figure(name, _WHAT, _draw(cells, won), caption)


def ways_map_errors(page: Page, variant: VariantName, case: CaseName) -> Markdown:
    """Return the map's rates, and a row per measured step that it predicts, with the ratio."""
    inputs = Inputs(page, variant, case)
    forecast = inputs.forecast()
    if forecast is None:
        return not_measured("predictions of the map")
    rows: list[list[str]] = []
    apart = 0.0
    for work, at in inputs.points.items():
        measured = {way: ms for way, ms in inputs.steps(work).items() if way in _WAYS}
        ratios = {way: forecast.ms(way, at) / ms for way, ms in measured.items()}
        split = [ratio for way, ratio in ratios.items() if way != "whole"]
        apart = max(apart, max(split) / min(split) - 1) if split else apart
        for way, ms in measured.items():
            shown = [f"{number(each)} ms" for each in (forecast.ms(way, at), ms)]
            rows.append([code(f"{work}-by-{way}"), *shown, f"{ratios[way]:.3f}×"])
    found = table(["step", "predicted", "measured", "predicted over measured"], rows)
    last = (
        f"Of one work the ratios of the split ways lie up to {apart:.1%} apart: "
        "between ways that are predicted closer than that, the map can be wrong."
    )
    few, *_ = inputs.points.values()
    return Markdown(f"{_told(forecast, page, few)}\n\n{found}\n\n{last}")


def _told(forecast: Forecast, page: Page, few: Point) -> str:
    """Return the rates, and what follows where the memory's is above what the GPU reaches.

    ``few``: the decode that gave the fixed time.
    """
    per, ceilings = forecast.rates, roofline.best(page.tables)
    tera = {name: number(getattr(per, name) / 1e9) for name in ("memory", "products", "attention")}
    told = (
        f"Rates: memory {tera['memory']} TB/s, products {tera['products']} TFLOP/s, attention "
        f"{tera['attention']} TFLOP/s; fixed: {number(1e3 * per.fixed)} µs per layer."
    )
    ceiling = ceilings.get("dram_read")
    if ceiling and per.memory > ceiling * 1e6:
        slower = replace(forecast, rates=per.with_memory(ceiling * 1e6, forecast.of, few))
        cells = [cell for cell in _cells(forecast, few.context) if cell[-1]]
        changed = sum(slower.fastest(at) != ways for *_, at, ways in cells)
        told += (
            f" Reading alone reached {number(ceiling / 1e3)} TB/s on this GPU: so the memory's rate"
            " is too high and the fixed time, which two GPUs do not share, too long, which makes"
            " decodes of two GPUs come out slower. With the rate of reading, and the fixed time"
            f" that it leaves, {changed} of the map's {len(cells)} cells would change."
        )
    return told


def _cells(forecast: Forecast, context: int) -> list[tuple[float, int, Point, list[str]]]:
    """Return each cell's left edge, row and step, and the ways that are predicted the fastest."""
    columns = [(0.0, 1), *((1 + _BREAK + at, tokens) for at, tokens in enumerate(_TOKENS))]
    steps = [
        (left, row, Point(tokens, sequences, context if tokens == 1 else 0))
        for left, tokens in columns
        for row, sequences in enumerate(_SEQUENCES)
    ]
    return [(left, row, at, forecast.fastest(at)) for left, row, at in steps]


def _draw(cells: list[tuple[float, int, Point, list[str]]], won: dict[Point, list[str]]) -> str:
    boxes: chart.Rows = []
    letters: chart.Rows = []
    dots: chart.Rows = []
    for left, row, at, ways in cells:
        ends = {"y": row + _INSET, "y2": row + 1 - _INSET}
        boxes += [{"x": x, "x2": x2, "way": way, **ends} for x, x2, way in _stripes(left, ways)]
        letters += _letters(left, row + (0.77 if at in won else 0.5), ways)
        dots += _letters(left, row + 0.3, won.get(at, []))
    return chart.svg(_chart(), boxes=boxes, letters=letters, dots=dots)


def _stripes(left: float, ways: list[str]) -> list[tuple[float, float, str]]:
    """Return left and right edge of each way's part of a cell, and its label in the legend."""
    wide = (1 - 2 * _INSET) / max(len(ways), 1)
    start = left + _INSET
    return [
        (start + at * wide, start + (at + 1) * wide, _LABELS[way]) for at, way in enumerate(ways)
    ]


def _letters(left: float, y: float, ways: list[str]) -> chart.Rows:
    parts = _stripes(left, ways)
    return [{"x": (x + x2) / 2, "y": y, "way": way, "letter": way[0]} for x, x2, way in parts]


def _chart() -> Any:
    import altair as alt

    wide = 1 + _BREAK + len(_TOKENS)
    places = [0.5, *(1.5 + _BREAK + at for at in range(len(_TOKENS)))]
    across = _axis(
        places, ["decode", *map(str, _TOKENS)], "tokens of a sequence that a step computes"
    )
    rows = [row + 0.5 for row in range(len(_SEQUENCES))]
    up = _axis(rows, list(map(str, _SEQUENCES)), "sequences in the batch")
    x = alt.X("x:Q", axis=across, scale=alt.Scale(domain=[0, wide], nice=False))
    y = alt.Y("y:Q", axis=up, scale=alt.Scale(domain=[0, len(_SEQUENCES)], nice=False))
    legend = alt.Legend(columns=4, symbolOpacity=1, symbolType="square", symbolStrokeWidth=0)
    colours = alt.Scale(domain=[*_LABELS.values()], range=[colour for _, colour in _WAYS.values()])
    colour = alt.Color("way:N", title=None, scale=colours, legend=legend)
    boxes, letters, dots = (alt.Chart(alt.NamedData(name)) for name in ("boxes", "letters", "dots"))
    text: dict[str, Any] = {"color": chart.ON_DARK, "baseline": "middle", "fontWeight": "bold"}
    ring: dict[str, Any] = {
        "stroke": chart.ON_DARK,
        "strokeWidth": 1.5,
        "size": 220,
        "opacity": 1,
        "aria": False,
    }
    layers = (
        boxes.mark_rect(aria=False).encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour)
        + letters.mark_text(**text).encode(x=x, y=y, text="letter:N")
        + dots.mark_circle(**ring).encode(x=x, y=y, color=colour)
        + dots.mark_text(**text | {"fontSize": 12}).encode(x=x, y=y, text="letter:N")
    )
    return layers.properties(width=chart.WIDTH, height=_ROW * len(_SEQUENCES))


def _axis(places: list[float], labels: list[str], title: str) -> Any:
    """Return an axis with a label at each place, and no lines."""
    import altair as alt

    shown = f"{json.dumps(labels)}[indexof({json.dumps(places)}, datum.value)]"
    return alt.Axis(
        values=places, labelExpr=shown, title=title, grid=False, ticks=False, domain=False
    )
