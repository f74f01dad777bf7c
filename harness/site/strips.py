"""Samples as strips: a dot a sample, a row a process, with interval and bound on the same scale.

As in :mod:`harness.view.roofline_plot`, colours are those of the page, which Altair's are not.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from harness.analysis.measured import Measured
from harness.analysis.verdict import Ends
from harness.report.numbers import number, scaled

_WIDTH, _GUTTER, _ROW, _AXIS, _EDGE = 560, 140, 20, 30, 24
_TICKS = 5
_LABEL = 21
"""Characters of a label that fit beside the strips."""
_BOUND_STRETCHES = 3.0
"""A bound is drawn if it makes the scale at most so many times as long; else an arrow points."""

Rows = Sequence[tuple[str, Sequence[float]]]
"""Label and values of each row."""


class _Scale:
    """Values to x, over the range that is drawn."""

    def __init__(self, values: Sequence[float], bound: Ends) -> None:
        low, high = min(values), max(values)
        span = (high - low) or abs(high) * 0.1 or 1.0
        ends = [end for end in bound if math.isfinite(end)]
        near = [end for end in ends if max(high, end) - min(low, end) <= _BOUND_STRETCHES * span]
        self.low, self.high = min([low, *near]), max([high, *near])
        room = 0.06 * ((self.high - self.low) or span)
        self.low, self.high = self.low - room, self.high + room

    def x(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return _GUTTER + share * (_WIDTH - _GUTTER - _EDGE)

    def ticks(self) -> Iterator[float]:
        """Yield round values within the range."""
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(part * power for part in (1, 2, 5, 10) if part * power >= rough)
        first = math.ceil(self.low / step)
        for place in range(first, math.floor(self.high / step) + 1):
            yield place * step


def by_process(values: Mapping[int, Sequence[float]]) -> Rows:
    """Return the rows of a metric's values by round: a row a process."""
    return [(f"process {round_ + 1}", values[round_]) for round_ in sorted(values)]


def svg(rows: Rows, unit: str, intervals: Sequence[tuple[str, Measured]], bound: Ends) -> str:
    """Return rows of dots below the intervals of what was concluded, as SVG; "" without a value.

    ``bound`` are the least and the most that a claim allows, infinite where it sets no limit.
    """
    measured = [(label, each) for label, each in intervals if each.value is not None]
    spans = [end for _, each in measured for end in _ends(each)]
    every = [*(value for _, values in rows for value in values), *spans]
    if not every:
        return ""
    scale = _Scale(every, bound)
    height = (len(measured) + len(rows)) * _ROW + _AXIS
    parts = [
        f'<svg class="strip" viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' aria-label="{escape(_said(measured, rows))}">',
        *_axis(scale, unit, height),
        *_allowed(scale, bound, height),
    ]
    for place, (label, each) in enumerate(measured):
        parts += _interval(scale, label, each, (place + 0.5) * _ROW)
    for place, (label, values) in enumerate(rows, start=len(measured)):
        parts += _dots(scale, label, values, (place + 0.5) * _ROW)
    return "\n".join([*parts, "</svg>"])


def _ends(measured: Measured) -> list[float]:
    return [end for end in (measured.low, measured.high) if end is not None]


def _said(measured: Sequence[tuple[str, Measured]], rows: Rows) -> str:
    count = sum(len(values) for _, values in rows)
    told = [
        f"{label}: {number(each.value or 0)} [{number(each.low or 0)}, {number(each.high or 0)}]"
        for label, each in measured
    ]
    return "; ".join([*told, f"{count} values in {len(rows)} rows"])


def _axis(scale: _Scale, unit: str, height: float) -> Iterator[str]:
    factor, shown = scaled(max(abs(scale.low), abs(scale.high)), unit)
    bottom = height - _AXIS
    for tick in scale.ticks():
        x = scale.x(tick)
        yield f'<path class="grid" d="M{x:.1f} 0V{bottom}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 14}" class="tick">{number(tick / factor)}</text>'
    middle = (_GUTTER + _WIDTH) / 2
    yield f'<text x="{middle}" y="{bottom + 27}" class="tick">{escape(shown)}</text>'


def _allowed(scale: _Scale, bound: Ends, height: float) -> Iterator[str]:
    """Yield the area inside the bound, and an arrow where a limit lies beyond the scale."""
    least, most = bound
    if math.isinf(least) and math.isinf(most):
        return
    left, right = scale.x(least), scale.x(most)
    bottom = height - _AXIS
    if right > left:
        yield (
            f'<rect class="allowed" x="{left:.1f}" y="0" width="{right - left:.1f}"'
            f' height="{bottom}"/>'
        )
    for end in bound:
        if not math.isfinite(end):
            continue
        if scale.low < end < scale.high:
            yield f'<path class="limit" d="M{scale.x(end):.1f} 0V{bottom}"/>'
        else:
            arrow, anchor = ("◀", "start") if end <= scale.low else ("▶", "end")
            words = f"{arrow} bound {number(end)}"
            x = scale.x(end)
            yield f'<text x="{x:.1f}" y="{bottom - 3}" class="far {anchor}">{words}</text>'


def _interval(scale: _Scale, label: str, each: Measured, y: float) -> Iterator[str]:
    low, high, value = each.low or 0.0, each.high or 0.0, each.value or 0.0
    yield _label(label, y)
    yield f'<path class="interval" d="M{scale.x(low):.1f} {y}H{scale.x(high):.1f}"/>'
    yield f'<circle class="value" cx="{scale.x(value):.1f}" cy="{y}" r="5"/>'


def _dots(scale: _Scale, label: str, values: Sequence[float], y: float) -> Iterator[str]:
    yield _label(label, y)
    dots = "".join(f"M{scale.x(value):.1f} {y}h0" for value in values)
    yield f'<path class="dots" d="{dots}"/>'


def _label(label: str, y: float) -> str:
    if len(label) > _LABEL:  # the ends tell cases apart
        label = f"{label[: _LABEL // 3]}…{label[1 - _LABEL + _LABEL // 3 :]}"
    return f'<text x="{_GUTTER - 8}" y="{y + 4}" class="row">{escape(label)}</text>'
