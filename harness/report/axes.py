"""Logarithmic axes of the figures, and where on them a value or a text lies."""

import math
from typing import Any

from harness.report.chart import GAP, WIDTH

_CHARACTER = 6
"""Pixels that a character of text is wide, about."""


class DecadeAxis:
    """A log axis over positive values, ``length`` pixels long, with a grid line a decade."""

    def __init__(self, values: list[float], length: float) -> None:
        self._ends = [min(values), max(values)]
        self._decades = math.log10(self._ends[1] / self._ends[0])
        self._length = length

    def scale(self) -> Any:
        """Return the scale for the plotting library."""
        import altair as alt

        return alt.Scale(type="log", domain=self._ends, nice=False)

    def axis(self) -> Any:
        """Return the axis for the plotting library."""
        import altair as alt

        first, last = (math.log10(end) for end in self._ends)
        powers = range(math.ceil(first), math.floor(last) + 1)
        return alt.Axis(values=[10.0**power for power in powers], format="~g")

    def pixel(self, value: float) -> float:
        """Return the distance of ``value`` from the axis's start, in pixels."""
        return self._length * math.log10(value / self._ends[0]) / self._decades

    def value(self, pixel: float) -> float:
        """Return the value that lies ``pixel`` pixels from the axis's start."""
        return float(self._ends[0] * 10 ** (pixel * self._decades / self._length))


class ClampedLogAxis:
    """A log axis over any values; zero and below, where an interval may end, lie at its left end.

    It is as long as a figure is wide.
    """

    def __init__(self, values: list[float]) -> None:
        positive = [value for value in values if value > 0] or [1.0]
        self._ends = [min(positive), max(positive)]

    def scale(self) -> Any:
        """Return the scale for the plotting library."""
        import altair as alt

        ends = self._ends
        return alt.Scale(type="log", domain=ends, nice=False, padding=GAP, clamp=True)

    def text_start(self, end: float, text: str, lines: list[float]) -> float:
        """Return the value at which a text starts that follows a mark ending at ``end``.

        That is ``end``, or the last of the vertical ``lines`` that the text would lie across.
        """
        least, greatest = self._ends
        decades = math.log10(greatest / least)
        if end <= 0 or decades == 0:
            return end
        width = (GAP + _CHARACTER * len(text)) * decades / (WIDTH - 2 * GAP)
        crossed = [line for line in lines if end < line < end * 10**width]
        return max(crossed, default=end)
