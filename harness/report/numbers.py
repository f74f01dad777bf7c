"""Prints measured numbers: four significant digits, the unit, the interval."""

from harness.analysis.metrics import Measured
from harness.analysis.units import byte_unit
from harness.report.escape import Markdown

NOT_MEASURED = "not measured"


def number(value: float) -> str:
    """Return ``value`` with four significant digits, from 100,000 on in groups of three.

    An exponent stands only below 1e-4 and from 1e9.
    """
    if float(value).is_integer() and abs(value) < 1e6:
        return _grouped(int(value))
    rounded = f"{value:.4g}"
    return _grouped(int(float(rounded))) if 1e4 <= abs(value) < 1e9 else rounded


def size(count: int, *, signed: bool = False) -> str:
    """Return bytes in the largest decimal unit that fits; ``signed``: an increase has a plus."""
    scale, unit = byte_unit(count)
    sign = "+" if signed and count > 0 else ""
    return f"{sign}{number(count / scale)} {unit}"


def measured(metric: Measured, *, interval: bool = True) -> Markdown:
    """Return a metric as "1.494 ms [1.493, 1.495]", or that it was not measured.

    Bytes are in the largest decimal unit that fits, times of less than a millisecond in µs, clocks
    in MHz.
    """
    if metric.value is None or metric.low is None or metric.high is None:
        return Markdown(NOT_MEASURED)
    scale, unit = _scaled(metric.value, metric.unit)
    text = f"{number(metric.value / scale)}{_spaced(unit)}"
    if interval and metric.samples > 1 and metric.low != metric.high:
        text += f" [{number(metric.low / scale)}, {number(metric.high / scale)}]"
    return Markdown(text)


def _grouped(whole: int) -> str:
    return f"{whole:,}" if abs(whole) >= 100_000 else str(whole)


def _scaled(value: float, unit: str) -> tuple[float, str]:
    """Return the unit in which to print ``value``, after the number of ``unit`` that it equals."""
    if unit == "B":
        return byte_unit(value)
    if unit == "ms" and 0 < abs(value) < 1:
        return 1e-3, "µs"
    if unit == "Hz":
        return 1e6, "MHz"
    return 1.0, unit


def _spaced(unit: str) -> str:
    return unit if unit in ("×", "%", "") else f" {unit}"
