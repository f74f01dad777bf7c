"""What the model missed at the nearest measured shapes and cuts of K, by kernel.

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

from families import Slicing
from ladder import Step
from plans import Plan, Problem, as_read

MEASURED = Path(__file__).parent / "nearest.json"

Point = tuple[float, ...]
Residual = tuple[Problem, Plan, float]
"""A problem, a plan of it, and by what logarithm the model missed."""
STREAMED = 1.6
"""Parts of a tile whose K is cut wherever a unit's range ends."""
UNTIMED = 2.0
"""How much faster a kernel has to be by prediction, if others were timed and it was not."""


def way(plan: Plan) -> str:
    """Return the kernel, and whether another adds its parts: such plans miss alike."""
    return plan.config.name + "+" * plan.added


def parts(plan: Plan) -> float:
    """Return into how many parts a plan cuts the K of the tiles that it shares."""
    if isinstance(plan.config, Step) or not plan.spread:
        return 1.0
    if isinstance(plan.config, Slicing):
        return plan.units * plan.spread
    return plan.units / plan.spread if plan.units > plan.spread else STREAMED


def point(problem: Problem, plan: Plan) -> Point:
    """Return where a plan lies: logarithms of sizes and parts, what is aligned, the layout."""
    problem = as_read(problem)
    m, n, k = (math.log2(size) for size in problem.shape)
    apart = [2.0 * (not aligned) for aligned in problem.aligned]
    order = [0.7 * (letter == "t") for letter in problem.layout]
    return m, n, 0.7 * k, *apart, *order, math.log2(parts(plan))


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
            return UNTIMED if self.ways else 1.0
        mean = sum(value for _, value in known) / (len(known) + self.doubt)
        here = point(problem, plan)
        total = weights = 0.0
        for there, value in known:
            weight = math.exp(-(math.dist(here, there) ** 2) / (2 * self.reach**2))
            weights += weight
            total += weight * (value - mean)
        return math.exp(mean + total / (weights + self.doubt))


def collected(residuals: Iterable[Residual], reach: float, doubt: float) -> Nearest:
    """Return residuals by way."""
    ways: dict[str, list[tuple[Point, float]]] = defaultdict(list)
    for problem, plan, value in residuals:
        ways[way(plan)].append((point(problem, plan), value))
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
