"""What the model missed at the nearest measured shapes, by kernel and way of cutting K.

A residual is the logarithm of measured over predicted time, less the mean over all plans of the
problem: what all plans of a shape have in common, such as the clock, does not change a choice.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from families import Tiling
from ladder import Step
from plans import Plan, Problem

MEASURED = Path(__file__).parent / "nearest.json"

Point = tuple[float, ...]
Residual = tuple[Problem, str, float]
"""A problem, a way of computing it, and by what logarithm the model missed."""


def way(plan: Plan) -> str:
    """Return the kernel and how it cuts K: plans of one way share what the model misses."""
    if isinstance(plan.config, Step):
        return plan.config.name
    if isinstance(plan.config, Tiling):
        cut = "whole" if not plan.spread else "split" if plan.units > plan.spread else "stream"
        return f"{plan.config.name}/{cut}"
    return f"{plan.config.name}/{plan.units}" + "+" * (plan.spread > 1)


def point(problem: Problem) -> Point:
    """Return where a problem lies: logarithms of its sizes, what is aligned, its layout."""
    m, n, k = (math.log2(size) for size in problem.shape)
    apart = [float(not aligned) for aligned in problem.aligned]
    order = [float(letter == "t") for letter in problem.layout]
    return m, n, 0.7 * k, *(2.0 * each for each in apart), *(0.7 * each for each in order)


@dataclass(frozen=True)
class Nearest:
    """Residuals by way, each with its place. ``reach``: of a neighbour, in octaves of a size.

    ``doubt``: how many measured problems nearby weigh as much as none.
    """

    ways: dict[str, list[tuple[Point, float]]]
    reach: float = 1.0
    doubt: float = 1.0

    def factor(self, plan: Plan, problem: Problem) -> float:
        """Return by what to multiply the model's time of a plan."""
        known = self.ways.get(way(plan))
        if not known:
            return 1.0
        mean = sum(value for _, value in known) / (len(known) + self.doubt)
        here = point(problem)
        total = weights = 0.0
        for there, value in known:
            weight = math.exp(-(math.dist(here, there) ** 2) / (2 * self.reach**2))
            weights += weight
            total += weight * (value - mean)
        return math.exp(mean + total / (weights + self.doubt))


def collected(residuals: Iterable[Residual], reach: float, doubt: float) -> Nearest:
    """Return residuals by way."""
    ways: dict[str, list[tuple[Point, float]]] = defaultdict(list)
    for problem, name, value in residuals:
        ways[name].append((point(problem), value))
    return Nearest(dict(ways), reach, doubt)


@cache
def nearest() -> Nearest:
    """Return what was measured and saved; nothing if nothing was."""
    if not MEASURED.exists():
        return Nearest({})
    saved = json.loads(MEASURED.read_text(encoding="utf-8"))
    points = [tuple(each) for each in saved["points"]]
    ways = {
        name: [(points[place], value) for place, value in values]
        for name, values in saved["ways"].items()
    }
    return Nearest(ways, saved["reach"], saved["doubt"])


def save(near: Nearest) -> None:
    """Write what ``nearest`` then returns; each point once."""
    points: dict[Point, int] = {}
    ways = {
        name: [(points.setdefault(there, len(points)), round(value, 4)) for there, value in values]
        for name, values in sorted(near.ways.items())
    }
    text = json.dumps(
        {"reach": near.reach, "doubt": near.doubt, "points": list(points), "ways": ways},
        separators=(",", ":"),
    )
    MEASURED.write_text(text + "\n", encoding="utf-8")
