"""The axes of the figures, and where on them a value or a text lies."""

import math
from collections.abc import Collection, Iterable
from typing import Any

from harness.analysis.units import byte_unit
from harness.report.chart import FONT, GAP
from harness.report.labels import text_width

_NUMBER = 45
"""Pixels that a number below an axis needs."""

_MOST_SIZES = 6
"""Sizes that are all written below an axis."""
_MOST_TIMES = 8
"""Times the least value up to which values can be told apart on an axis from 0."""

_LEAST_MS = 10
"""An axis that does not reach as many milliseconds is one of microseconds."""


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

    def steps(self) -> Any:
        """Return the axis with a line at 1, 2 and 5 of each decade."""
        import altair as alt

        first, last = (math.floor(math.log10(end)) for end in self._ends)
        values = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]
        return alt.Axis(values=values, format=",~g")

    def sizes(self, sizes: Collection[float]) -> Any:
        """Return the axis with a line at each size or, if they are many, at powers of two."""
        import altair as alt

        if len(set(sizes)) <= _MOST_SIZES:
            return alt.Axis(values=sorted(set(sizes)), format="~d")
        first, last = (math.log2(end) for end in self._ends)
        powers = range(math.ceil(first), math.floor(last) + 1)
        stride = 1 + int(len(powers) * _NUMBER // self._length)
        return alt.Axis(values=[2.0**power for power in powers[::stride]], format="~d")

    def pixel(self, value: float) -> float:
        """Return the distance of ``value`` from the axis's start, in pixels."""
        return self._length * math.log10(value / self._ends[0]) / self._decades

    def value(self, pixel: float) -> float:
        """Return the value that lies ``pixel`` pixels from the axis's start."""
        return float(self._ends[0] * 10 ** (pixel * self._decades / self._length))


class ZeroAxis:
    """A linear axis from 0 to somewhat above the largest value, ``length`` pixels long."""

    def __init__(self, values: Collection[float], length: float) -> None:
        self._end = 1.05 * max(values)
        self._length = length

    def scale(self) -> Any:
        """Return the scale for the plotting library."""
        import altair as alt

        return alt.Scale(domain=[0, self._end], nice=False)

    def steps(self) -> Any:
        """Return the axis with a few lines."""
        import altair as alt

        return alt.Axis(tickCount=5)

    def pixel(self, value: float) -> float:
        """Return the distance of ``value`` from the axis's start, in pixels."""
        return self._length * value / self._end

    def value(self, pixel: float) -> float:
        """Return the value that lies ``pixel`` pixels from the axis's start."""
        return self._end * pixel / self._length


def of_values(values: Collection[float], length: float) -> DecadeAxis | ZeroAxis:
    """Return the axis on which values can be told apart: from 0, or logarithmic if they must."""
    far = max(values) > _MOST_TIMES * min(values)
    return DecadeAxis(list(values), length) if far else ZeroAxis(values, length)


def linear(marks: Iterable[tuple[float, str]], others: Iterable[float], length: float) -> Any:
    """Return the scale of an axis from 0 that is ``length`` pixels long.

    It holds the texts that follow ``marks``, each a value and its text, and the ``others``.
    """
    import altair as alt

    ends = [max(0.0, value) / (1 - _share(text, length)) for value, text in marks]
    most = max([*ends, *others], default=0.0)
    return alt.Scale(domain=[0, most or 1.0], nice=False, zero=True)


def shown_unit(largest: float, unit: str) -> tuple[float, str]:
    """Return the unit of an axis up to ``largest``, after the number of ``unit`` that it equals."""
    if unit == "B":
        return byte_unit(largest)
    return (1e-3, "µs") if unit == "ms" and largest < _LEAST_MS else (1.0, unit)


def _share(text: str, length: float) -> float:
    """Return the share of an axis that a gap and a text after it take, at most two thirds."""
    return min(2 / 3, (GAP + text_width(text, FONT)) / length)
