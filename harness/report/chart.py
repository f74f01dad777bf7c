"""What the figures share: colours, the axis of labels, and the way from a chart to SVG.

Figures are drawn without a browser, with grey text and no background, for light and dark pages.
"""

from typing import Any

INK = "#767676"  # contrast 4.5 on white, 4.2 on the dark pages of the usual forges
BLUE, ORANGE, GREEN = "#3b82c4", "#d9822b", "#3f9b6c"
WIDTH, HEIGHT = 560, 340
"""Pixels of a figure's plotting area."""
GAP = 8
"""Pixels between a mark and the text beside it."""

Rows = list[dict[str, Any]]
"""What a figure draws: plain values by field name."""


def label_axis(order: list[str]) -> Any:
    """Return the vertical axis of labels, from top to bottom in the given order."""
    import altair as alt

    return alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=380))


def svg(chart: Any) -> str:
    """Return a chart in the colours of the worklogs as SVG text."""
    import vl_convert

    themed = (
        chart.configure(font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            domainColor=INK,
            tickColor=INK,
            gridColor=INK,
            gridOpacity=0.2,
            titleFontWeight="normal",
        )
        .configure_legend(labelColor=INK, titleColor=INK, orient="bottom", columns=4)
    )
    specification = themed.to_dict() | {"background": "transparent"}
    text: str = vl_convert.vegalite_to_svg(specification, vl_version="6.1")
    return text
