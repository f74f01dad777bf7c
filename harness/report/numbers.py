"""Prints measured numbers: the digits that their intervals bear out, the unit, the interval."""

import math
import re

from harness.analysis.measured import Measured
from harness.analysis.units import byte_unit
from harness.report.columns import NOT_MEASURED
from harness.report.escape import Markdown, escape

_DIGITS = 3
_MOST_DIGITS = 4
_PLURAL = re.compile(r"(?<=[nt]ch)es\b|(?<=ss)es\b|(?<=[a-z]{2}[a-rt-z])s\b")
"""The plural's ending of a unit's first noun: "problems", "launches", "samples/s"."""
_NOUN = re.compile(r"[a-z]{4,}s\b")
"""A unit that is a number of things: "problems", "launches"."""
_ALIKE = 0.01
"""Of values that differ by a smaller share, three digits do not show by how much."""
_SYMMETRIC = 0.75
"""An interval whose shorter side is at least this share of the longer one is printed as ±."""
_WIDE = 4.0
"""An interval whose ends differ by more than this factor says less than what each process gave."""


def number(value: float, digits: int = _DIGITS) -> str:
    """Return ``value`` with that many significant digits, from 100,000 on in groups of three.

    A whole part of four digits is kept, and a whole number below a million is printed as it is. An
    exponent stands only below 1e-4 and from 1e9.
    """
    if float(value).is_integer() and abs(value) < 1e6:
        return _grouped(int(value))
    if 1e3 <= abs(value) < 1e4:
        digits = max(digits, _MOST_DIGITS)
    rounded = f"{value:.{digits}g}"
    return _grouped(int(float(rounded))) if "e+" in rounded and abs(value) < 1e9 else rounded


def size(count: int, *, signed: bool = False) -> str:
    """Return bytes in the largest decimal unit that fits; ``signed``: an increase has a plus."""
    scale, unit = byte_unit(count)
    sign = "+" if signed and count > 0 else ""
    return f"{sign}{number(count / scale)} {unit}"


def measured(metric: Measured, *, interval: bool = True) -> Markdown:
    """Return a metric in a sentence: "108.7 ± 0.6 µs", "2.1× [2.0, 2.2]", or that it has no value.

    Of two processes, or where the interval is wide, what each of them gave stands in its place:
    "2.1× (1.9 to 2.3)"; of counted things always the least and the most: "407 to 431 problems".
    Bytes are in the largest decimal unit that fits, times of less than a millisecond in µs, clocks
    in MHz. Only ratios and asymmetric intervals have brackets.
    """
    return _shown(metric, interval=interval, brackets=metric.unit == "×")


def shown_spread(metric: Measured) -> tuple[float, float] | None:
    """Return the least and most of a process that stand in place of an interval, if they do.

    Student's point of two values is 63.7: their interval says nothing that they do not.
    """
    low, high = metric.low or 0.0, metric.high or 0.0
    return metric.spread if metric.rounds == 2 or high > _WIDE * low > 0 else None


def in_cell(metric: Measured) -> Markdown:
    """Return a metric in a table's cell, where only asymmetric intervals have brackets."""
    return _shown(metric, interval=True, brackets=False)


def in_full(metric: Measured) -> Markdown:
    """Return a metric with the ends of its interval in four digits, where they decide something."""
    if metric.value is None or metric.low is None or metric.high is None:
        return Markdown(NOT_MEASURED)
    if metric.rounds == 2 or metric.low == metric.high:
        return in_cell(metric)
    scale, unit = scaled(metric.value, metric.unit)
    ends = (metric.value, metric.low, metric.high)
    value, low, high = (number(end / scale, _MOST_DIGITS) for end in ends)
    return Markdown(f"{_with(value, escape(unit))} [{low}, {high}]")


def deciding(metric: Measured) -> Markdown:
    """Return a metric with the interval that decides, also where its processes would stand."""
    return in_full(metric) if shown_spread(metric) else measured(metric)


def between(least: float, most: float, unit: str) -> str:
    """Return two values of a metric in words: "241 to 337 tok/s", "333 µs to 1.64 ms".

    Values that differ by less than a hundredth have four digits: "0.9979 to 1.002×".
    """
    (low_scale, low_unit), (scale, shown) = (scaled(value, unit) for value in (least, most))
    digits = _MOST_DIGITS if 0 < most - least < _ALIKE * abs(most) else _DIGITS
    low = number(least / low_scale, digits)
    low = low if low_unit == shown else _with(low, low_unit)
    return f"{low} to {_with(number(most / scale, digits), shown)}"


def bounds(least: float, most: float, unit: str) -> str:
    """Return limits in words, in the unit that values are shown in; one may be infinite."""
    scale, shown = scaled(max(abs(end) for end in (least, most) if math.isfinite(end)), unit)
    low, high = (number(end / scale, _MOST_DIGITS) for end in (least, most))
    if math.isinf(most):
        return f"≥ {_with(low, shown)}"
    if math.isinf(least):
        return f"≤ {_with(high, shown)}"
    return _with(low if least == most else f"{low} to {high}", shown)


def _counted(metric: Measured) -> tuple[int, int] | None:
    """Return the fewest and the most things of a round; None if no round, or none of things."""
    if metric.spread is None or metric.timed or not _NOUN.match(metric.unit):
        return None
    fewest, most = map(round, metric.spread)
    whole = math.isclose(fewest, metric.spread[0]) and math.isclose(most, metric.spread[1])
    return (fewest, most) if whole and fewest != most else None


def _shown(metric: Measured, *, interval: bool, brackets: bool) -> Markdown:
    if metric.value is None or metric.low is None or metric.high is None:
        return Markdown(NOT_MEASURED)
    scale, unit = scaled(metric.value, metric.unit)
    value, low, high = (end / scale for end in (metric.value, metric.low, metric.high))
    half = max(high - value, value - low)
    places = _places(value, half)
    if not interval or metric.samples < 2:
        return Markdown(_with(number(value), escape(unit)))
    if (counted := _counted(metric)) is not None:
        return Markdown(between(*counted, metric.unit))
    if (spread := shown_spread(metric)) is not None:
        least, most = (end / scale for end in spread)
        return Markdown(_by_process(value, least, most, unit))
    if round(half, places) == 0:
        return Markdown(_with(number(value, _digits(value, half)), escape(unit)))
    if brackets or min(high - value, value - low) < _SYMMETRIC * half:
        ends = f"[{_fixed(low, places)}, {_fixed(high, places)}]"
        return Markdown(f"{_with(_fixed(value, places), escape(unit))} {ends}")
    return Markdown(_with(f"{_fixed(value, places)} ± {_fixed(half, places)}", escape(unit)))


def _by_process(value: float, least: float, most: float, unit: str) -> str:
    """Return a value with the least and most that a process gave, where their digits differ."""
    ends = (number(least), number(most))
    shown = _with(number(value), escape(unit))
    return shown if ends[0] == ends[1] else f"{shown} ({ends[0]} to {ends[1]})"


def _digits(value: float, half: float) -> int:
    """Return how many significant digits of ``value`` an interval of that half-width bears out."""
    if not value or not half:
        return _DIGITS
    digits = math.floor(math.log10(abs(value))) - math.floor(math.log10(half)) + 1
    return min(max(digits, 2), _MOST_DIGITS)


def _places(value: float, half: float) -> int:
    """Return how many decimals these digits are; negative where they end before the point."""
    largest = abs(value) or half or 1.0
    return _digits(value, half) - 1 - math.floor(math.log10(largest))


def _fixed(value: float, places: int) -> str:
    """Return a value rounded to so many decimals, with its final zeros."""
    rounded = round(value, places)
    return f"{rounded:.{places}f}" if places > 0 else _grouped(int(rounded))


def _grouped(whole: int) -> str:
    return f"{whole:,}" if abs(whole) >= 100_000 else str(whole)


def scaled(value: float, unit: str) -> tuple[float, str]:
    """Return the unit in which to print ``value``, after the number of ``unit`` that it equals."""
    if unit == "B":
        return byte_unit(value)
    if unit == "B/s":
        scale, symbol = byte_unit(value)
        return scale, f"{symbol}/s"
    if unit == "ms" and 0 < abs(value) < 1:
        return 1e-3, "µs"
    if unit == "Hz":
        return 1e6, "MHz"
    return 1.0, unit


def _with(value: str, unit: str) -> str:
    """Return a printed value and its unit: "2.1×", "7 kernels", "1 kernel", "1 pair of sweeps"."""
    if unit in ("×", "%", ""):
        return f"{value}{unit}"
    return f"{value} {_PLURAL.sub('', unit, count=1) if value == '1' else unit}"
