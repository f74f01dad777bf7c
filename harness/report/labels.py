"""Where labels go beside points that lie close together: pixels in, pixels out."""

from collections.abc import Sequence
from itertools import pairwise

Spot = tuple[float, float]
"""Pixels from the left and from the top."""


def beside(points: Sequence[Spot], height: float, line: float, near: float) -> list[Spot]:
    """Return a label's left end for each point, in the points' order.

    Points that follow each other within ``near`` pixels from left to right are a group; its labels
    stand in one column right of the group, at least ``line`` pixels apart, from top to bottom in
    the points' order and as close to them as that allows, between 0 and ``height``.
    """
    order = sorted(range(len(points)), key=lambda one: points[one][0])
    groups = [order[:1]]
    for before, after in pairwise(order):
        if points[after][0] - points[before][0] > near:
            groups.append([])
        groups[-1].append(after)
    placed: dict[int, Spot] = {}
    for group in groups:
        column = max((points[one][0] for one in group), default=0.0) + line
        down = sorted(group, key=lambda one: points[one][1])
        for one, top in zip(
            down, _apart([points[one][1] for one in down], height, line), strict=True
        ):
            placed[one] = (column, top)
    return [placed[one] for one in range(len(points))]


def _apart(tops: Sequence[float], height: float, line: float) -> list[float]:
    """Return rising ``tops`` pushed apart: those too close share a block around their middle."""
    blocks: list[list[float]] = []  # the middle of a block, and how many lines it holds
    for top in tops:
        blocks.append([_inside(top, 1, height, line), 1])
        while len(blocks) > 1 and _touch(blocks[-2], blocks[-1], line):
            (middle, count), (other, more) = blocks[-2:]
            both = (middle * count + other * more) / (count + more)
            blocks[-2:] = [[_inside(both, count + more, height, line), count + more]]
    return [
        middle + (number - (count - 1) / 2) * line
        for middle, count in blocks
        for number in range(int(count))
    ]


def _touch(above: Sequence[float], below: Sequence[float], line: float) -> bool:
    return below[0] - above[0] < line * (above[1] + below[1]) / 2


def _inside(middle: float, count: float, height: float, line: float) -> float:
    half = (count - 1) / 2 * line
    return max(half, min(height - half, middle))
