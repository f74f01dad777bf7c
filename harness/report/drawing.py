"""Drawings without axes: boxes, arrows and lines of text, each at a place in pixels."""

import math

from harness.report.chart import CARD, FAINT, FONT, INK, Figure, Rows, aligned_texts, svg
from harness.report.colours import text_on
from harness.report.labels import text_width

MOST_WIDE = 440
"""Pixels of the widest drawing: on a page of 400 pixels its type is still 12 pixels high."""
LINE = 19
"""Pixels from a line of text to the next."""
_BESIDE = 6
"""Pixels that a text in a box leaves free, left and right together."""
_HEAD = 9
"""Pixels from the point of an arrow's head to its base."""


class Drawing:
    """Boxes and texts in pixels from the upper left corner, x to the right and y down."""

    def __init__(self, width: float, height: float, gap: float = 1.0) -> None:
        """``gap``: pixels between two boxes that touch."""
        if width > MOST_WIDE:
            raise ValueError(f"{width} pixels are more than {MOST_WIDE}")
        self._size, self._gap = (width, height), gap
        self.boxes: Rows = []
        self.texts: Rows = []
        self.arrows: Rows = []

    def box(
        self, at: tuple[float, float], size: tuple[float, float], colour: str, text: str = ""
    ) -> None:
        """Add a box at its upper left corner; ``text`` stands in its middle if it has room."""
        (x, y), (width, height) = at, size
        self.boxes.append({"x": x, "x2": x + width, "y": y, "y2": y + height, "colour": colour})
        if text and text_width(text, FONT) + _BESIDE <= width:
            self.text((x + width / 2, y + height / 2), text, "center", text_on(colour))

    def text(
        self, at: tuple[float, float], text: str, align: str = "left", colour: str = INK
    ) -> None:
        """Add a line of text; y is that of its middle, x that of its left, center or right."""
        self.texts.append({"x": at[0], "y": at[1], "text": text, "align": align, "colour": colour})

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], colour: str = FAINT
    ) -> None:
        """Add an arrow whose point is at ``end``."""
        (x, y), (x2, y2) = start, end
        length = math.hypot(x2 - x, y2 - y)
        across, down = (x2 - x) / length, (y2 - y) / length
        base = (x2 - _HEAD * across, y2 - _HEAD * down)
        half = _HEAD / 2
        sides = [(base[0] - side * down, base[1] + side * across) for side in (half, -half)]
        for (from_x, from_y), (to_x, to_y) in ((start, end), *((each, end) for each in sides)):
            line = {"x": from_x, "y": from_y, "x2": to_x, "y2": to_y, "colour": colour}
            self.arrows.append(line)

    def key(self, at: tuple[float, float], entries: dict[str, str]) -> None:
        """Add a line that says what each colour means; ``entries``: texts by colour."""
        x, y = at
        for colour, text in entries.items():
            self.box((x, y - FONT / 2), (FONT, FONT), colour)
            self.text((x + FONT + _BESIDE, y), text)
            x += FONT + 4 * _BESIDE + text_width(text, FONT)

    def svg(self) -> Figure:
        """Return the drawing as SVG."""
        import altair as alt

        across, down = self._size
        x = alt.X("x:Q", scale=alt.Scale(domain=[0, across], nice=False), axis=None)
        y = alt.Y("y:Q", scale=alt.Scale(domain=[down, 0], nice=False), axis=None)
        colour = alt.Color("colour:N", scale=None)
        chart = alt.Chart(alt.NamedData("boxes"))
        box = chart.mark_rect(aria=False, stroke=CARD, strokeWidth=self._gap)
        layers = [box.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour)]
        if self.arrows:
            line = alt.Chart(alt.Data(values=self.arrows)).mark_rule(
                aria=False, strokeWidth=1.5, strokeCap="round"
            )
            layers.append(line.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour))
        layers += aligned_texts(self.texts, x, y, aria=False)
        layered = alt.layer(*layers).properties(width=across, height=down)
        return svg(layered, boxes=self.boxes)
