"""Places labels beside points that lie close together; all lengths are in pixels."""

from collections.abc import Sequence
from itertools import pairwise

_NARROW, _WIDE = frozenset("ijlft.,:;'|!()[]-I/ "), frozenset("mwMWGOQ@%")
"""Characters clearly narrower and wider than most of a sans-serif type."""

Spot = tuple[float, float]
"""Pixels from the left and from the top."""


def text_width(text: str, size: float) -> float:
    """Return about how many pixels wide ``text`` is in a sans-serif type of ``size`` pixels."""
    narrow = sum(character in _NARROW for character in text)
    wide = sum(character in _WIDE for character in text)
    capitals = sum(character.isupper() for character in text)
    return size * (0.56 * len(text) - 0.22 * narrow + 0.26 * wide + 0.1 * capitals)


def beside(points: Sequence[Spot], height: float, line: float, near: float) -> list[Spot]:
    """Return a label's left end for each point, in the points' order.

    Points that follow each other within ``near`` pixels from left to right are a group; its labels
    stand in one column right of the group, at least ``line`` pixels apart, from top to bottom in
    the points' order and as close to them as that allows, between 0 and ``height``.
    """
    order = sorted(range(len(points)), key=lambda index: points[index][0])
    groups = [order[:1]]
    for before, after in pairwise(order):
        if points[after][0] - points[before][0] > near:
            groups.append([])
        groups[-1].append(after)
    placed: dict[int, Spot] = {}
    for group in groups:
        column = max((points[index][0] for index in group), default=0.0) + line
        down = sorted(group, key=lambda index: points[index][1])
        tops = _apart([points[index][1] for index in down], height, line)
        placed |= {index: (column, top) for index, top in zip(down, tops, strict=True)}
    return [placed[index] for index in range(len(points))]


def _apart(tops: Sequence[float], height: float, line: float) -> list[float]:
    """Return rising ``tops`` pushed apart: those too close share a block around their middle."""
    blocks: list[list[float]] = []  # the middle of a block, and its number of lines
    for top in tops:
        blocks.append([_inside(top, 1, height, line), 1])
        while len(blocks) > 1 and _touch(blocks[-2], blocks[-1], line):
            (upper, above), (lower, below) = blocks[-2:]
            count = above + below
            middle = (upper * above + lower * below) / count
            blocks[-2:] = [[_inside(middle, count, height, line), count]]
    return [
        middle + (place - (count - 1) / 2) * line
        for middle, count in blocks
        for place in range(int(count))
    ]


def _touch(above: Sequence[float], below: Sequence[float], line: float) -> bool:
    return below[0] - above[0] < line * (above[1] + below[1]) / 2


def _inside(middle: float, count: float, height: float, line: float) -> float:
    half = (count - 1) / 2 * line
    return max(half, min(height - half, middle))
