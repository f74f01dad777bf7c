"""How a measured number is printed: four significant digits, its unit, its interval."""

from harness.analysis.metrics import Measured
from harness.report.escape import Markdown

_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
NOT_MEASURED = "not measured"


def number(value: float) -> str:
    """Return ``value`` with four significant digits, from 100,000 on in groups of three.

    An exponent stands only below 1e-4 and from 1e9.
    """
    if float(value).is_integer() and abs(value) < 1e6:
        return _grouped(int(value))
    rounded = f"{value:.4g}"
    return _grouped(int(float(rounded))) if 1e4 <= abs(value) < 1e9 else rounded


def measured(found: Measured, *, interval: bool = True) -> Markdown:
    """Return a metric as "1.494 ms [1.493, 1.495]", or that it was not measured.

    Bytes are in the largest decimal unit that fits, times of less than a millisecond in µs, clocks
    in MHz.
    """
    if found.value is None or found.low is None or found.high is None:
        return Markdown(NOT_MEASURED)
    scale, unit = _scaled(found)
    text = f"{number(found.value / scale)}{_spaced(unit)}"
    if interval and found.samples > 1 and found.low != found.high:
        text += f" [{number(found.low / scale)}, {number(found.high / scale)}]"
    return Markdown(text)


def _grouped(whole: int) -> str:
    return f"{whole:,}" if abs(whole) >= 100_000 else str(whole)


def _scaled(found: Measured) -> tuple[float, str]:
    if found.unit == "B" and found.value is not None:
        size = abs(found.value)
        return next((pair for pair in _BYTES if size >= pair[0]), _BYTES[-1])
    if found.unit == "ms" and found.value is not None and 0 < abs(found.value) < 1:
        return 1e-3, "µs"
    if found.unit == "Hz":
        return 1e6, "MHz"
    return 1.0, found.unit


def _spaced(unit: str) -> str:
    return unit if unit in ("×", "%", "") else f" {unit}"
