"""A roofline as SVG: the kernels of one capture under what the GPU's memory and arithmetic allow.

Colours are those of the page that holds it, so the figure suits light and dark alike, and the
page's script finds each point. Altair, which draws the figures of reports, writes colours of its
own into its marks and gives them neither class nor id.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from harness.analysis.kernels import short_name
from harness.analysis.roofline import Point, Roof, Roofline
from harness.ground.plain import plain
from harness.report.numbers import number

_WIDTH, _HEIGHT = 560, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 16, 14, 44
_LINE = 14
_NAME = 60
_DASHED = "datasheet"


@dataclass(frozen=True)
class _Axes:
    """Logarithmic axes between powers of ten: FLOP a byte across, TFLOP/s upward."""

    left: float
    right: float
    bottom: float
    top: float

    def x(self, value: float) -> float:
        share = (math.log10(value) - self.left) / (self.right - self.left)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (math.log10(value) - self.bottom) / (self.top - self.bottom)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def svg(roofline: Roofline, prefix: str = "") -> str:
    """Return the figure, "" without a point.

    The element of the n-th point has ``data-point="n"`` and, with ``prefix``, the id ``prefix-n``.
    """
    if not roofline.points:
        return ""
    axes = _axes(roofline)
    parts = [
        f'<svg class="roofline" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(_told(roofline))}">',
        *_grid(axes),
        *_roofs(axes, roofline),
    ]
    for place, point in enumerate(roofline.points):
        id_ = f' id="{escape(prefix)}-{place}"' if prefix else ""
        name = plain(short_name(point.name, _NAME))
        parts.append(
            f'<circle class="point"{id_} data-point="{place}" r="5"'
            f' cx="{axes.x(point.intensity):.1f}" cy="{axes.y(point.tflop_s):.1f}">'
            f"<title>{escape(name)}: {escape(said(point, roofline))}</title></circle>"
        )
    return "\n".join([*parts, "</svg>"])


def said(point: Point, roofline: Roofline) -> str:
    """Return where a point lies, in words.

    A tensor core multiplies whole tiles: where rows are fewer, padding counts as operations.
    """
    place = f"{number(point.intensity)} FLOP/byte, {number(point.tflop_s)} TFLOP/s in {point.kind}"
    if point.kind != "fp32":
        place += ", padding of tiles included"
    roofs = roofline.roofs[point.kind]
    if not roofs:
        return f"{place}; no ceiling of {point.kind} is known for this GPU"
    share, limit = point.share(roofs[0])
    of = "memory" if limit == "memory" else f"{point.kind} arithmetic"
    return f"{place}; {100 * share:.0f} % of what {of} allows ({roofs[0].name})"


def _told(roofline: Roofline) -> str:
    count = len(roofline.points)
    return f"Roofline of {count} kernel{'s' if count > 1 else ''}, TFLOP/s over FLOP per byte"


def _axes(roofline: Roofline) -> _Axes:
    """Return axes that hold every point and each roof's ridge."""
    roofs = [roof for each in roofline.roofs.values() for roof in each]
    ridges = [(roof.tflop_s * 1e3 / roof.gb_s, roof.tflop_s) for roof in roofs]
    places = [*((point.intensity, point.tflop_s) for point in roofline.points), *ridges]
    across = [math.log10(x) for x, _ in places]
    upward = [math.log10(y) for _, y in places]
    room = 0.15
    return _Axes(
        math.floor(min(across) - room),
        math.ceil(max(across) + room),
        math.floor(min(upward) - room),
        math.ceil(max(upward) + room),
    )


def _grid(axes: _Axes) -> Iterator[str]:
    """Yield a line and its number at each power of ten, and the titles of the axes."""
    low, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for power in range(round(axes.left), round(axes.right) + 1):
        x = axes.x(10.0**power)
        yield f'<path class="grid" d="M{x:.1f} {_TOP}V{low}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{low + 16}">{_power(power)}</text>'
    for power in range(round(axes.bottom), round(axes.top) + 1):
        y = axes.y(10.0**power)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>'
        yield f'<text class="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{_power(power)}</text>'
    middle = (_LEFT + right) / 2
    across = "FLOP per byte of device memory"
    yield f'<text class="tick" x="{middle:.0f}" y="{_HEIGHT - 8}">{across}</text>'
    yield f'<text class="tick" transform="translate(12 {low / 2:.0f}) rotate(-90)">TFLOP/s</text>'


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -4 < power < 5 else f"1e{power}"


def _roofs(axes: _Axes, roofline: Roofline) -> Iterator[str]:
    """Yield each roof once: the slope of memory, then a flat line for each kind of arithmetic."""
    sources = list(dict.fromkeys(roof.name for each in roofline.roofs.values() for roof in each))
    for place, source in enumerate(sources):
        highest = {
            kind: roof
            for kind, each in roofline.roofs.items()
            for roof in each
            if roof.name == source
        }
        dashed = " sheet" if source == _DASHED else ""
        slope = next(iter(highest.values())).gb_s
        top = max(highest.values(), key=lambda roof: roof.tflop_s)
        yield f'<path class="roof{dashed}" d="{_slope(axes, top)}"/>'
        if not place:
            yield _along(axes, slope, f"{number(slope)} GB/s, {_short(source)}")
        for kind, roof in highest.items():
            yield f'<path class="roof{dashed}" d="{_flat(axes, roof)}"/>'
            yield _above(
                axes,
                roof,
                f"{kind} {number(roof.tflop_s)} TFLOP/s, {_short(source)}",
                below=not place,
            )


def _short(source: str) -> str:
    """Return the first word of where a roof is from."""
    return source.partition(" ")[0]


def _slope(axes: _Axes, roof: Roof) -> str:
    """Return the path along which memory limits, from the axes to the highest ridge."""
    tflop_a_byte = roof.gb_s / 1e3
    start = max(10.0**axes.left, 10.0**axes.bottom / tflop_a_byte)
    ridge = roof.tflop_s / tflop_a_byte
    return (
        f"M{axes.x(start):.1f} {axes.y(start * tflop_a_byte):.1f}"
        f"L{axes.x(ridge):.1f} {axes.y(roof.tflop_s):.1f}"
    )


def _flat(axes: _Axes, roof: Roof) -> str:
    y = axes.y(roof.tflop_s)
    return f"M{axes.x(roof.tflop_s * 1e3 / roof.gb_s):.1f} {y:.1f}H{_WIDTH - _RIGHT}"


def _above(axes: _Axes, roof: Roof, label: str, *, below: bool) -> str:
    """Return the name of a flat roof: at its right end, below it or above."""
    y = axes.y(roof.tflop_s) + (_LINE if below else -5)
    return f'<text class="end" x="{_WIDTH - _RIGHT - 4}" y="{y:.1f}">{escape(label)}</text>'


def _along(axes: _Axes, gb_s: float, label: str) -> str:
    """Return the name of memory's slope, written along it."""
    start = max(10.0**axes.left, 10.0 ** (axes.bottom + 3) / gb_s)
    x, y = axes.x(start), axes.y(start * gb_s / 1e3)
    rise = (axes.y(1.0) - axes.y(10.0)) / (axes.x(10.0) - axes.x(1.0))
    angle = -math.degrees(math.atan(rise))
    return (
        f'<text class="along" transform="translate({x:.1f} {y:.1f}) rotate({angle:.1f})"'
        f' x="26" y="-7">{escape(label)}</text>'
    )
