"""Places labels beside points, apart from each other; all lengths are in pixels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
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


def apart(tops: Sequence[float], height: float, line: float) -> list[float]:
    """Return ``tops`` at least ``line`` pixels apart in their order, between 0 and ``height``.

    Those too close share a block around their middle.
    """
    order = sorted(range(len(tops)), key=lambda index: tops[index])
    placed = dict(zip(order, _pushed([tops[index] for index in order], height, line), strict=True))
    return [placed[index] for index in range(len(tops))]


def _pushed(tops: Sequence[float], height: float, line: float) -> list[float]:
    """Return rising ``tops`` pushed apart."""
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


@dataclass(frozen=True)
class Box:
    """The place of a text: its left and right end, its upper and lower one."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, spot: Spot, margin: float = 0.0) -> bool:
        """Return whether a spot is inside, or less than ``margin`` outside."""
        return (
            self.left - margin < spot[0] < self.right + margin
            and self.top - margin < spot[1] < self.bottom + margin
        )

    def touches(self, other: "Box", margin: float) -> bool:
        """Return whether another box is less than ``margin`` away."""
        return (
            self.left - margin < other.right
            and other.left - margin < self.right
            and self.top - margin < other.bottom
            and other.top - margin < self.bottom
        )

    def nearest(self, spot: Spot) -> Spot:
        """Return the box's spot that is nearest to another."""
        x, y = spot
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)


class Free:
    """An area of ``width`` by ``height`` in which labels take free places beside their points.

    No label lies on another, on a point of ``points`` or on a line of ``lines``, each a series of
    spots.
    """

    def __init__(
        self, size: Spot, points: Sequence[Spot], lines: Sequence[Sequence[Spot]] = ()
    ) -> None:
        self._size = size
        self._points = list(points)
        self._crossed = [spot for line in lines for spot in _along(line)]
        self._boxes: list[Box] = []

    def take(self, point: Spot, width: float, height: float, most: float) -> Box | None:
        """Return the place of a label at most ``most`` pixels from its point; None if all are full.

        It is taken then, and so is the leader from the point to it, which crosses a line only where
        there is no other place.
        """
        boxes = [
            _beside(point, width, height, direction, distance)
            for distance in range(_NEAREST, int(most) + 1, _NEAREST)
            for direction in _DIRECTIONS
        ]
        free = [box for box in boxes if self._is_free(box)]
        leaders = [_along([point, box.nearest(point)]) for box in free]
        for crossing in (False, True):
            for box, leader in zip(free, leaders, strict=True):
                if self._leads(point, leader, crossing=crossing):
                    self._boxes.append(box)
                    self._crossed += leader
                    return box
        return None

    def _is_free(self, box: Box) -> bool:
        inside = box.left >= 0 and box.top >= 0
        inside = inside and box.right <= self._size[0] and box.bottom <= self._size[1]
        return (
            inside
            and not any(box.touches(other, 4) for other in self._boxes)
            and not any(box.holds(other, _NEAREST - 2) for other in self._points)
            and not any(box.holds(spot, 1) for spot in self._crossed)
        )

    def _leads(self, point: Spot, leader: Sequence[Spot], *, crossing: bool) -> bool:
        """Return whether a leader goes through no other point or label and, if asked, no line."""
        away = [spot for spot in leader if math.dist(spot, point) > _NEAREST - 2]
        others = [other for other in self._points if math.dist(other, point) > 1]
        avoided = others if crossing else [*others, *self._crossed]
        return not any(
            other.holds(spot, 1) for other in self._boxes for spot in leader
        ) and not any(math.dist(spot, other) < _CLEAR for spot in away for other in avoided)


_NEAREST = 9
"""Pixels from a point to a label right beside it."""

_CLEAR = 5
"""Pixels that a leader keeps from points and lines that are not its own."""

_DIRECTIONS = [(math.cos(turn * math.pi / 4), math.sin(turn * math.pi / 4)) for turn in range(8)]
"""Right first, then round by eighths."""


def _beside(point: Spot, width: float, height: float, direction: Spot, distance: float) -> Box:
    x = point[0] + direction[0] * (distance + width / 2)
    y = point[1] + direction[1] * (distance + height / 2)
    return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _along(line: Sequence[Spot]) -> list[Spot]:
    """Return spots along a line, close enough that none of its texts fits between two."""
    spots = []
    for (x, y), (x2, y2) in pairwise(line):
        steps = max(1, round(math.dist((x, y), (x2, y2)) / 3))
        spots += [
            (x + (x2 - x) * step / steps, y + (y2 - y) * step / steps) for step in range(steps + 1)
        ]
    return spots
