"""The colours of kernel families, and of text on them."""

from collections.abc import Iterable

from harness.report.chart import ON_DARK, ON_LIGHT

_OF_FAMILY = {
    "gemm": "#3674b5",
    "gemv": "#6aaee0",
    "attention": "#8a6bbe",
    "elementwise": "#e0a03c",
    "triton: pointwise": "#e0a03c",
    "cast/copy": "#b84a42",
    "copy": "#2a9d8f",
    "memset": "#8c959f",
    "fill/memset": "#8c959f",
    "triton: reduction": "#2f8a5b",
    "triton: persistent reduction": "#7fbf7b",
    "triton: template": "#1f4e79",
    "quantize": "#b0577d",
}
_SPARE = ("#8a6242", "#5b7f2b", "#d37fb0", "#4c5c96", "#c9b458", "#2f8a5b", "#7d7d7d")


def of_families(families: Iterable[str]) -> dict[str, str]:
    """Return a colour for each family: the same on every figure, unless two of one share it."""
    chosen: dict[str, str] = {}
    for family in families:
        wanted = (_OF_FAMILY.get(family), *_SPARE)
        free = (colour for colour in wanted if colour and colour not in chosen.values())
        chosen.setdefault(family, next(free, _SPARE[-1]))
    return chosen


def lighter(colour: str, share: float) -> str:
    """Return ``colour`` with ``share`` of the way to white."""
    return "#" + "".join(
        f"{round(part + (255 - part) * share):02x}" for part in bytes.fromhex(colour[1:])
    )


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def text_on(colour: str) -> str:
    """Return the colour of text, dark or light, that is easier to read on ``colour``."""
    return max((ON_LIGHT, ON_DARK), key=lambda text: contrast(text, colour))


def _luminance(colour: str) -> float:
    """Return the relative luminance of an sRGB colour (WCAG 2.2)."""
    parts = (part / 255 for part in bytes.fromhex(colour[1:]))
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
