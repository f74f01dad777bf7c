"""Figures as readers see them: where each text lies, in which colour and size."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree

_NUMBER = r"(-?[\d.]+(?:e-?\d+)?)"
_TRANSLATE = re.compile(rf"translate\({_NUMBER},\s*{_NUMBER}\)")


@dataclass(frozen=True)
class Label:
    """A line of text with its box, in pixels of the figure, its size and its colour."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    colour: str

    def covers(self, other: "Label", slack: float = 1.0) -> bool:
        """Return whether two boxes share more than ``slack`` pixels in both directions."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across > slack and down > slack


def labels(svg: str) -> list[Label]:
    """Return every text of a figure, level or turned by a quarter, with about its box."""
    return list(_labels(_parsed(svg), 0.0, 0.0))


def overlapping(svg: str) -> list[tuple[str, str]]:
    """Return the pairs of a figure's texts that lie on each other."""
    return [
        (one.text, other.text) for one, other in combinations(labels(svg), 2) if one.covers(other)
    ]


def size(svg: str) -> tuple[float, float]:
    """Return a figure's width and height in pixels."""
    box = _parsed(svg).attrib["viewBox"].split()
    return float(box[2]), float(box[3])


def fills(svg: str) -> list[str]:
    """Return the colours in which a figure's shapes are filled."""
    return [
        colour
        for element in _parsed(svg).iter()
        if not element.tag.endswith("text")
        and (colour := element.attrib.get("fill", "")).startswith("#")
    ]


def _parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - the harness drew it


def _labels(element: ElementTree.Element, x: float, y: float) -> Iterator[Label]:
    shift = _TRANSLATE.search(element.attrib.get("transform", ""))
    if shift:
        x, y = x + float(shift[1]), y + float(shift[2])
    # A text with a stroke is the border of the one that follows.
    if element.tag.endswith("text") and "stroke" not in element.attrib:
        if "rotate(-90)" in element.attrib.get("transform", ""):
            yield from (_turned(line, x, y) for line in _lines(element, 0.0, 0.0))
        else:
            yield from _lines(element, x, y)
    for part in element:
        yield from _labels(part, x, y)


def _turned(line: Label, x: float, y: float) -> Label:
    """Return a line of text turned to the left around the figure's start, then moved."""
    box = (x + line.top, y - line.right, x + line.bottom, y - line.left)
    return Label(line.text, *box, line.size, line.colour)


def _lines(element: ElementTree.Element, x: float, y: float) -> Iterator[Label]:
    size = float(element.attrib["font-size"].removesuffix("px"))
    spans = list(element) or [element]
    for span in spans:
        y += float(span.attrib.get("dy", 0))
        text = span.text or ""
        width = 0.5 * size * len(text)
        left = (
            x
            - {"start": 0.0, "middle": 0.5, "end": 1.0}[element.attrib.get("text-anchor", "start")]
            * width
        )
        if text.strip():
            box = (left, y - 0.75 * size, left + width, y + 0.2 * size)
            yield Label(text, *box, size, element.attrib.get("fill", "#000000"))
