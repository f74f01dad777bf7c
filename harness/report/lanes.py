"""A drawing of lanes over time, as of a kernel's warps or buffers; time has no unit."""

from typing import NamedTuple

from harness.report.chart import FAINT, GAP, Figure
from harness.report.drawing import LINE, MOST_WIDE, Drawing

_ROW, _BOX = 22, 20
"""Pixels from a lane to the next, and of a box in it."""
_LEFT = 108
"""Pixels for the names of lanes."""


class Span(NamedTuple):
    """What a lane does from ``start`` to ``end``: colour, and a text where it has room."""

    lane: str
    start: float
    end: float
    colour: str
    text: str = ""


def draw(spans: list[Span], until: float, key: dict[str, str]) -> Figure:
    """Return a row per lane, in the order of the spans, cut off at a time.

    ``key``: what colours mean.
    """
    lanes = list(dict.fromkeys(span.lane for span in spans))
    scale = (MOST_WIDE - _LEFT) / until
    bottom = _ROW * len(lanes)
    drawing = Drawing(MOST_WIDE, bottom + 2 * LINE)
    for place, lane in enumerate(lanes):
        drawing.text((_LEFT - GAP, _ROW * place + _BOX / 2), lane, "right")
    for span in spans:
        if span.start < min(span.end, until):
            size = (scale * (min(span.end, until) - span.start), _BOX)
            corner = (_LEFT + scale * span.start, _ROW * lanes.index(span.lane))
            drawing.box(corner, size, span.colour, span.text)
    drawing.text((MOST_WIDE, bottom + LINE / 2), "time →", "right", FAINT)
    drawing.key((_LEFT, bottom + 3 * LINE / 2), key)
    return drawing.svg()
