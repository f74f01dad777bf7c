"""What the figures share: colours, sizes, the axis of labels, and the way from a chart to SVG.

Figures are drawn without a browser, on a card of their own, so that they look the same on light and
on dark pages.
"""

from textwrap import wrap
from typing import Any

CARD = "#ffffff"
INK, FAINT = "#24292f", "#57606a"
"""Colours of text and of axes; each has a contrast of more than 4.5 to the card."""
BLUE, ORANGE, GREEN = "#3674b5", "#c2701c", "#2f8a5b"
GRID = "#d8dee4"
WIDTH, HEIGHT = 580, 340
"""Pixels of a figure's plotting area, without a column of labels."""
FONT = 13
"""Pixels of the type; no figure is so wide that a page has to shrink it."""
GAP = 8
"""Pixels between a mark and the text beside it."""

_LABEL_CHARACTERS = 30
"""After about as many characters a label of an axis goes on in a second line."""

Rows = list[dict[str, Any]]
"""What a figure draws: plain values by field name."""


def label_axis(order: list[str]) -> Any:
    """Return the vertical axis of labels, from top to bottom in the given order."""
    import altair as alt

    lines = {label: "\n".join(wrap(label, _LABEL_CHARACTERS)) for label in order}
    shown = f"split({lines}[datum.value], '\\n')"
    axis = alt.Axis(labelLimit=380, labelExpr=shown, ticks=False, grid=False, labelPadding=GAP)
    return alt.Y("label:N", sort=order, title=None, axis=axis)


def svg(chart: Any) -> str:
    """Return a chart in the colours of the worklogs as SVG text."""
    import vl_convert

    themed = (
        chart.configure(font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=FAINT,
            titleColor=FAINT,
            domainColor=FAINT,
            tickColor=FAINT,
            gridColor=GRID,
            labelFontSize=FONT,
            titleFontSize=FONT,
            titleFontWeight="normal",
        )
        .configure_text(fontSize=FONT, color=INK)
        .configure_legend(
            labelColor=INK, labelFontSize=FONT, labelLimit=0, orient="bottom", columns=3
        )
    )
    specification = themed.to_dict() | {"background": CARD, "padding": 10}
    text: str = vl_convert.vegalite_to_svg(specification, vl_version="6.1")
    return text
