"""Means with the ends of their intervals, and verdicts, as docs/statistics.md says them."""

import math
from collections.abc import Callable
from functools import cache
from statistics import stdev
from typing import Any, NamedTuple

CONFIDENCE = 0.99
CLEAR = 0.01
"""Share by which a sampled value has to be clear of a bound."""


class Again(NamedTuple):
    """A value, and the ends of its interval; None where those are drawn at random."""

    value: float
    ends: tuple[float, float] | None
    sampled: bool


def student(freedom: float) -> float:
    """Return Student's t: what a share of ``CONFIDENCE`` lies within, either side of 0.

    With x = sqrt(freedom) tan(a) the density is that of cos(a) ** (freedom - 1), so the share is a
    ratio of two areas below it, summed here strip by strip.
    """
    strips = 200_000
    width = math.pi / 2 / strips
    areas = [math.cos((strip + 0.5) * width) ** (freedom - 1) for strip in range(strips)]
    wanted, reached = CONFIDENCE * math.fsum(areas), 0.0
    for strip, area in enumerate(areas):
        if reached + area >= wanted:
            angle = (strip + (wanted - reached) / area) * width
            return math.sqrt(freedom) * math.tan(angle)
        reached += area
    raise AssertionError


@cache
def printed_point(processes: int) -> float:
    """Return Student's t for the mean of so many, with the three decimals that tables print."""
    return round(student(processes - 1), 3)


def of_processes(values: list[float], *, sampled: bool) -> Again:
    """Return the mean of one value a process, with the ends that Student's t gives of 2 to 7."""
    forth, back = scale(values)
    logs = [forth(value) for value in values]
    middle = math.fsum(logs) / len(logs)
    if len(set(values)) == 1 and (len(values) > 1 or not sampled):
        return Again(back(middle), (back(middle), back(middle)), sampled)
    if not 2 <= len(values) <= 7:
        return Again(back(middle), None, sampled)
    reach = printed_point(len(values)) * stdev(logs) / math.sqrt(len(logs))
    return Again(back(middle), (back(middle - reach), back(middle + reach)), sampled)


def of_shapes(rows: list[list[float]]) -> Again:
    """Return the mean over shapes, and its ends: shapes differ, and so do processes.

    ``rows``: a shape's medians, one a process. Both variances of the mean add up; the degrees of
    freedom of their sum are Satterthwaite's.
    """
    forth, back = scale([value for row in rows for value in row])
    logs = [[forth(value) for value in row] for row in rows]
    ways = [
        [math.fsum(each) / len(each) for each in way] for way in (logs, zip(*logs, strict=True))
    ]
    middle = math.fsum(ways[0]) / len(ways[0])
    parts = [(stdev(way) ** 2 / len(way), len(way) - 1) for way in ways if len(way) > 1]
    variance = sum(part for part, _ in parts)
    reach = 0.0
    if variance > 0:
        freedom = variance**2 / sum(part**2 / count for part, count in parts)
        reach = student(freedom) * math.sqrt(variance)
    return Again(back(middle), (back(middle - reach), back(middle + reach)), sampled=True)


def scale(values: list[float]) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return how to average: of logarithms, but of values as they are where one is not above 0."""
    return (math.log, math.exp) if min(values) > 0 else (float, float)


def verdict(again: Again, bound: dict[str, Any]) -> str:
    """Return the verdict on a bound, by docs/statistics.md; the ends have to be known."""
    assert again.ends
    low, high = again.ends
    least, most = bound.get("between") or (
        bound.get("above", -math.inf),
        bound.get("below", math.inf),
    )
    clear = CLEAR if again.sampled or low < high else 0.0

    def above(more: float, less: float) -> bool:
        """Return whether one number is above another by as much as counts."""
        if math.isinf(more) or math.isinf(less):
            return True
        margin = clear * max(abs(more), abs(less))
        return more - less >= margin or math.isclose(more - less, margin, abs_tol=1e-9 * abs(less))

    if above(low, least) and above(most, high):
        return "reproduced"
    if (high < least and above(least, high)) or (low > most and above(low, most)):
        return "refuted"
    finite = filter(math.isfinite, (least, most))
    near = [end for end in finite if abs(low - end) <= clear * abs(end) >= abs(high - end)]
    return "tie" if near else "undecided"
